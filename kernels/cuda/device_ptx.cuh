// The functions of device.h on a GPU. Only here is there inline PTX; tests/cuda/ look for each
// instruction in what the compiler makes of it.
#pragma once

#include "kernels/cuda/device.h"

namespace rondo::device {

RONDO_DEVICE unsigned threadIndex() {
  return threadIdx.x;
}

RONDO_DEVICE unsigned blockThreads() {
  return blockDim.x;
}

RONDO_DEVICE unsigned blockIndex() {
  return blockIdx.x;
}

RONDO_DEVICE std::byte* sharedMemory() {
  extern __shared__ Pack rondoSharedMemory[];
  return reinterpret_cast<std::byte*>(rondoSharedMemory);
}

RONDO_DEVICE void syncBlock() {
  __syncthreads();
}

RONDO_DEVICE bool syncBlockAny(bool mine) {
  return __syncthreads_or(mine ? 1 : 0) != 0;
}

RONDO_DEVICE bool anyInWarp(bool mine) {
  return __any_sync(0xffffffffu, mine ? 1 : 0) != 0;
}

RONDO_DEVICE float halfToFloat(std::uint16_t bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

RONDO_DEVICE std::uint16_t floatToHalf(float value) {
  std::uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

RONDO_DEVICE void postCounter(std::uint64_t& counter, std::uint64_t value) {
  asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(&counter), "l"(value) : "memory");
}

RONDO_DEVICE std::uint64_t observeCounter(const std::uint64_t& counter) {
  std::uint64_t value;
  asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(&counter) : "memory");
  return value;
}

RONDO_DEVICE void creditLines(std::uint64_t& counter, std::uint64_t value) {
  asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(&counter), "l"(value) : "memory");
}

RONDO_DEVICE std::uint32_t peekFlag(const std::uint32_t& flag) {
  std::uint32_t value;
  asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(value) : "l"(&flag) : "memory");
  return value;
}

RONDO_DEVICE void tellHost(std::int32_t& word, std::int32_t value) {
  asm volatile("st.relaxed.sys.s32 [%0], %1;" ::"l"(&word), "r"(value) : "memory");
}

RONDO_DEVICE void placePack(Pack& to, Pack value) {
  asm volatile("st.relaxed.sys.v2.u64 [%0], {%1, %2};" ::"l"(&to), "l"(value.half[0]),
               "l"(value.half[1])
               : "memory");
}

RONDO_DEVICE Pack peekPack(const Pack& from) {
  Pack value;
  asm volatile("ld.relaxed.sys.v2.u64 {%0, %1}, [%2];"
               : "=l"(value.half[0]), "=l"(value.half[1])
               : "l"(&from)
               : "memory");
  return value;
}

RONDO_DEVICE void placeLine128(Pack& to, Pack value) {
  __syncwarp();
  placePack(to, value);
}

}  // namespace rondo::device
