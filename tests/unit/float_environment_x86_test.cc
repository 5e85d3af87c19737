// Flush-to-zero, denormals-are-zero and unmasked exceptions, which only MXCSR can name.
#include <cfloat>

#include <gtest/gtest.h>
#include <immintrin.h>

#include "kernels/host/float_environment.h"

namespace rondo::host {

namespace {

constexpr unsigned kFlushBoth = 0x8040;
constexpr unsigned kExceptionMasks = 0x1f80;

TEST(FloatEnvironmentX86, TurnsFlushingOffAndRestoresIt) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | kFlushBoth);
  volatile float tiny = FLT_MIN;
  float inside = 0;
  {
    const FloatEnvironment environment;
    inside = tiny * 0.5f;
  }
  const float outside = tiny * 0.5f;
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_GT(inside, 0.0f);
  EXPECT_EQ(outside, 0.0f);
  EXPECT_EQ(after & kFlushBoth, kFlushBoth);
}

TEST(FloatEnvironmentX86, MasksExceptions) {
  const unsigned before = _mm_getcsr();
  // No sticky flag may be set when its exception is unmasked, or the next operation traps.
  _mm_setcsr(0);
  unsigned inside = 0;
  {
    const FloatEnvironment environment;
    volatile float zero = 0;
    volatile float quotient = 1.0f / zero;  // would raise SIGFPE
    (void)quotient;
    inside = _mm_getcsr();
  }
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(inside & kExceptionMasks, kExceptionMasks);
  EXPECT_EQ(after, 0u);
}

}  // namespace

}  // namespace rondo::host
