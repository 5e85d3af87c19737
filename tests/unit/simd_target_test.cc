// The choice of an instruction set, on processors made up for the test.
#include "kernels/host/simd_target.h"

#include <gtest/gtest.h>

namespace rondo::host {

namespace {

constexpr CpuFeatureWords kEverything = {~0u, ~0u, ~0u, 0xe7};

TEST(WidestTarget, FollowsTheProcessor) {
  EXPECT_EQ(widestTarget(kEverything), SimdTarget::kAvx512);
  EXPECT_EQ(widestTarget({}), SimdTarget::kScalar);
  CpuFeatureWords words = kEverything;
  words.leaf7Ebx &= ~(1u << 30);  // AVX512BW
  EXPECT_EQ(widestTarget(words), SimdTarget::kAvx2);
  words.leaf1Ecx &= ~(1u << 29);  // F16C
  EXPECT_EQ(widestTarget(words), SimdTarget::kScalar);
}

TEST(WidestTarget, FollowsTheKernel) {
  CpuFeatureWords words = kEverything;
  words.enabledStateMask = 0x07;  // x87, SSE and AVX state, no AVX-512 state
  EXPECT_EQ(widestTarget(words), SimdTarget::kAvx2);
  words.enabledStateMask = 0x03;
  EXPECT_EQ(widestTarget(words), SimdTarget::kScalar);
  words.enabledStateMask = 0;  // XGETBV is off
  EXPECT_EQ(widestTarget(words), SimdTarget::kScalar);
}

TEST(CpuRuns, NeedsEveryBit) {
  // The bits of the compile flags of combine_avx2.cc, one by one.
  for (const unsigned bit : {0u, 1u, 9u, 12u, 19u, 20u, 23u, 25u, 27u, 28u, 29u}) {
    CpuFeatureWords words = kEverything;
    words.leaf1Ecx &= ~(1u << bit);
    EXPECT_FALSE(cpuRuns(SimdTarget::kAvx2, words)) << bit;
    EXPECT_FALSE(cpuRuns(SimdTarget::kAvx512, words)) << bit;
    EXPECT_TRUE(cpuRuns(SimdTarget::kScalar, words));
  }
  for (const unsigned bit : {16u, 17u, 28u, 30u, 31u}) {
    CpuFeatureWords words = kEverything;
    words.leaf7Ebx &= ~(1u << bit);
    EXPECT_TRUE(cpuRuns(SimdTarget::kAvx2, words)) << bit;
    EXPECT_FALSE(cpuRuns(SimdTarget::kAvx512, words)) << bit;
  }
}

}  // namespace

}  // namespace rondo::host
