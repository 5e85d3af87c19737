// The codecs of kernels/cuda/coding.h, compiled for the device. Only the compiler runs; what they
// do is tested by the emulator, from the same source (coding_test.cc).
#include "kernels/cuda/coding.h"

namespace rondo {
namespace {

__global__ void encode(
    Codec codec, const float* values, device::RunShape shape, std::byte* run, float* sums) {
  device::encodeRun(codec, values, shape, run);
  device::syncBlock();
  device::decodeRun(codec, run, shape, sums);
  device::addDecodedRun(codec, run, shape, sums);
}

}  // namespace

using CodingKernel = void (*)(Codec, const float*, device::RunShape, std::byte*, float*);

/// Names the kernel, so that it is compiled.
extern const CodingKernel kCodingKernel;
const CodingKernel kCodingKernel = &encode;

}  // namespace rondo
