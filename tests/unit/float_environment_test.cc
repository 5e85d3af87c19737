#include "kernels/host/float_environment.h"

#include <cfenv>
#include <cfloat>

#include <gtest/gtest.h>

namespace rondo::host {

namespace {

/// Sums that the optimiser must leave to the processor.
double addAtRunTime(double a, double b) {
  volatile double left = a;
  volatile double right = b;
  volatile double sum = left + right;
  return sum;
}

float halveAtRunTime(float value) {
  volatile float operand = value;
  return operand * 0.5f;
}

class RestoreEnvironment {
 public:
  RestoreEnvironment() { std::fegetenv(&saved_); }

  ~RestoreEnvironment() { std::fesetenv(&saved_); }

  RestoreEnvironment(const RestoreEnvironment&) = delete;
  RestoreEnvironment& operator=(const RestoreEnvironment&) = delete;

 private:
  std::fenv_t saved_;
};

TEST(FloatEnvironment, RoundsToNearestAndRestores) {
  const RestoreEnvironment restore;
  const double half = DBL_EPSILON / 2;
  std::fesetround(FE_UPWARD);
  EXPECT_GT(addAtRunTime(1.0, half), 1.0);
  {
    const FloatEnvironment environment;
    EXPECT_EQ(addAtRunTime(1.0, half), 1.0);
  }
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  EXPECT_GT(addAtRunTime(1.0, half), 1.0);
}

TEST(FloatEnvironment, RestoresStickyFlags) {
  const RestoreEnvironment restore;
  std::feclearexcept(FE_ALL_EXCEPT);
  {
    const FloatEnvironment environment;
    addAtRunTime(1.0, DBL_EPSILON / 4);
    EXPECT_NE(std::fetestexcept(FE_INEXACT), 0);
  }
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0);
  addAtRunTime(1.0, DBL_EPSILON / 4);
  { const FloatEnvironment environment; }
  EXPECT_NE(std::fetestexcept(FE_INEXACT), 0);
}

TEST(FloatEnvironment, KeepsDenormals) {
  const FloatEnvironment environment;
  EXPECT_EQ(halveAtRunTime(FLT_MIN), FLT_MIN / 2);
  EXPECT_GT(halveAtRunTime(FLT_MIN), 0.0f);
}

}  // namespace

}  // namespace rondo::host
