// One kernel for each function of kernels/cuda/device.h that stands for an instruction, so that
// instructions_test.cc can look for it.
#include "kernels/cuda/device.h"

using rondo::device::Pack;

extern "C" {

__global__ void probe_syncBlock() {
  rondo::device::syncBlock();
}

__global__ void probe_syncBlockAny(std::uint32_t* to) {
  to[threadIdx.x] = rondo::device::syncBlockAny(to[threadIdx.x] != 0) ? 1 : 0;
}

__global__ void probe_anyInWarp(std::uint32_t* to) {
  to[threadIdx.x] = rondo::device::anyInWarp(to[threadIdx.x] != 0) ? 1 : 0;
}

__global__ void probe_halfToFloat(std::uint16_t bits, float* to) {
  *to = rondo::device::halfToFloat(bits);
}

__global__ void probe_floatToHalf(float value, std::uint16_t* to) {
  *to = rondo::device::floatToHalf(value);
}

__global__ void probe_postCounter(std::uint64_t* counter, std::uint64_t value) {
  rondo::device::postCounter(*counter, value);
}

__global__ void probe_observeCounter(const std::uint64_t* counter, std::uint64_t* to) {
  *to = rondo::device::observeCounter(*counter);
}

__global__ void probe_creditLines(std::uint64_t* counter, std::uint64_t value) {
  rondo::device::creditLines(*counter, value);
}

__global__ void probe_peekFlag(const std::uint32_t* flag, std::uint32_t* to) {
  *to = rondo::device::peekFlag(*flag);
}

__global__ void probe_tellHost(std::uint64_t* word, std::uint64_t value) {
  rondo::device::tellHost(*word, value);
}

__global__ void probe_placePack(Pack* to, std::uint64_t first, std::uint64_t second) {
  rondo::device::placePack(*to, {{first, second}});
}

__global__ void probe_peekPack(const Pack* from, Pack* to) {
  *to = rondo::device::peekPack(*from);
}

__global__ void probe_placeLine128(bool there,
                                   Pack* to,
                                   std::uint64_t first,
                                   std::uint64_t second) {
  rondo::device::placeLine128(there, to + threadIdx.x, {{first, second}});
}

__global__ void probe_peekLine128(bool there, const Pack* from, Pack* to) {
  to[threadIdx.x] = rondo::device::peekLine128(there, from + threadIdx.x);
}

}  // extern "C"
