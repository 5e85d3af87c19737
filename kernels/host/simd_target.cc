// The decision; reading the processor is in simd_target_x86.cc and simd_target_other.cc.
#include "kernels/host/simd_target.h"

namespace rondo::host {

namespace {

// Bit numbers: AMD64 Architecture Programmer's Manual volume 3, appendix E; Intel SDM volume 2,
// CPUID.
constexpr std::uint32_t kLeaf1Avx2Needs = (1u << 0) |      // SSE3
                                          (1u << 1) |      // PCLMULQDQ
                                          (1u << 9) |      // SSSE3
                                          (1u << 12) |     // FMA
                                          (1u << 19) |     // SSE4.1
                                          (1u << 20) |     // SSE4.2
                                          (1u << 23) |     // POPCNT
                                          (1u << 25) |     // AES
                                          (1u << 27) |     // OSXSAVE
                                          (1u << 28) |     // AVX
                                          (1u << 29);      // F16C
constexpr std::uint32_t kLeaf7Avx2Needs = (1u << 3) |      // BMI1
                                          (1u << 5) |      // AVX2
                                          (1u << 8);       // BMI2
constexpr std::uint32_t kLeaf80000001Avx2Needs = 1u << 5;  // LZCNT
constexpr std::uint32_t kLeaf7Avx512Needs = (1u << 16) |   // AVX512F
                                            (1u << 17) |   // AVX512DQ
                                            (1u << 28) |   // AVX512CD
                                            (1u << 30) |   // AVX512BW
                                            (1u << 31);    // AVX512VL
constexpr std::uint64_t kAvxState = 0x6;                   // XMM and the upper halves of YMM
constexpr std::uint64_t kAvx512State = 0xe6;  // these, mask registers, both parts of ZMM

constexpr bool holdsAll(std::uint64_t word, std::uint64_t needed) {
  return (word & needed) == needed;
}

}  // namespace

bool cpuRuns(SimdTarget target, const CpuFeatureWords& words) {
  if (target == SimdTarget::kScalar) return true;
  const bool avx2 = holdsAll(words.leaf1Ecx, kLeaf1Avx2Needs) &&
                    holdsAll(words.leaf7Ebx, kLeaf7Avx2Needs) &&
                    holdsAll(words.leaf80000001Ecx, kLeaf80000001Avx2Needs) &&
                    holdsAll(words.enabledStateMask, kAvxState);
  if (target == SimdTarget::kAvx2) return avx2;
  return avx2 && holdsAll(words.leaf7Ebx, kLeaf7Avx512Needs) &&
         holdsAll(words.enabledStateMask, kAvx512State);
}

SimdTarget widestTarget(const CpuFeatureWords& words) {
  if (cpuRuns(SimdTarget::kAvx512, words)) return SimdTarget::kAvx512;
  if (cpuRuns(SimdTarget::kAvx2, words)) return SimdTarget::kAvx2;
  return SimdTarget::kScalar;
}

}  // namespace rondo::host
