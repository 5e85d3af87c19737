// The functions of device.h on a GPU. Only here is there inline PTX; tests/cuda/ look for each
// instruction in what the compiler makes of it.
#pragma once

#include "kernels/cuda/device.h"

namespace rondo::device {

RONDO_DEVICE_PRIMITIVE unsigned threadIndex() {
  return threadIdx.x;
}

RONDO_DEVICE_PRIMITIVE unsigned blockThreads() {
  return blockDim.x;
}

RONDO_DEVICE_PRIMITIVE unsigned blockIndex() {
  return blockIdx.x;
}

RONDO_DEVICE_PRIMITIVE std::byte* sharedMemory() {
  extern __shared__ Pack rondoSharedMemory[];
  return reinterpret_cast<std::byte*>(rondoSharedMemory);
}

RONDO_DEVICE_PRIMITIVE void syncBlock() {
  __syncthreads();
}

RONDO_DEVICE_PRIMITIVE bool syncBlockAny(bool mine) {
  return __syncthreads_or(mine ? 1 : 0) != 0;
}

RONDO_DEVICE_PRIMITIVE bool anyInWarp(bool mine) {
  return __any_sync(0xffffffffu, mine ? 1 : 0) != 0;
}

RONDO_DEVICE_PRIMITIVE float halfToFloat(std::uint16_t bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

RONDO_DEVICE_PRIMITIVE std::uint16_t floatToHalf(float value) {
  std::uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

RONDO_DEVICE_PRIMITIVE void postCounter(std::uint64_t& counter, std::uint64_t value) {
  asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(&counter), "l"(value) : "memory");
}

RONDO_DEVICE_PRIMITIVE std::uint64_t observeCounter(const std::uint64_t& counter) {
  std::uint64_t value;
  asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(&counter) : "memory");
  return value;
}

RONDO_DEVICE_PRIMITIVE void creditLines(std::uint64_t& counter, std::uint64_t value) {
  asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(&counter), "l"(value) : "memory");
}

RONDO_DEVICE_PRIMITIVE std::uint32_t peekFlag(const std::uint32_t& flag) {
  std::uint32_t value;
  asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(value) : "l"(&flag) : "memory");
  return value;
}

RONDO_DEVICE_PRIMITIVE void tellHost(std::uint64_t& word, std::uint64_t value) {
  asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(&word), "l"(value) : "memory");
}

RONDO_DEVICE_PRIMITIVE void placePack(Pack& to, Pack value) {
  asm volatile("st.relaxed.sys.v2.u64 [%0], {%1, %2};" ::"l"(&to), "l"(value.half[0]),
               "l"(value.half[1])
               : "memory");
}

RONDO_DEVICE_PRIMITIVE Pack peekPack(const Pack& from) {
  Pack value;
  asm volatile("ld.relaxed.sys.v2.u64 {%0, %1}, [%2];"
               : "=l"(value.half[0]), "=l"(value.half[1])
               : "l"(&from)
               : "memory");
  return value;
}

RONDO_DEVICE_PRIMITIVE void placeLine128(bool there, Pack* to, Pack value) {
  __syncwarp();
  asm volatile(
      "{\n"
      ".reg .pred there;\n"
      "setp.ne.u32 there, %3, 0;\n"
      "@there st.relaxed.sys.v2.u64 [%0], {%1, %2};\n"
      "}" ::"l"(to),
      "l"(value.half[0]), "l"(value.half[1]), "r"(there ? 1u : 0u)
      : "memory");
}

RONDO_DEVICE_PRIMITIVE Pack peekLine128(bool there, const Pack* from) {
  Pack value;
  __syncwarp();
  asm volatile(
      "{\n"
      ".reg .pred there;\n"
      "setp.ne.u32 there, %3, 0;\n"
      "@there ld.relaxed.sys.v2.u64 {%0, %1}, [%2];\n"
      "}"
      : "+l"(value.half[0]), "+l"(value.half[1])
      : "l"(from), "r"(there ? 1u : 0u)
      : "memory");
  return value;
}

}  // namespace rondo::device
