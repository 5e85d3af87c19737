// Products of matrices: own loops, the host's library, and cuBLAS as far as a double shows it.
#include "examples/train_gpt/blas.h"

#include <array>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "examples/train_gpt/device_blas.h"
#include "examples/train_gpt/random_numbers.h"
#include "rondo/rondo.hpp"
#include "src/loaded_function.h"
#include "tests/train/cublas_double.h"

namespace rondo::train {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Property;
using ::testing::Throws;

/// The product by definition.
std::vector<double> naive(const GemmShape& s,
                          const std::vector<double>& a,
                          const std::vector<double>& b,
                          std::vector<double> c) {
  for (int i = 0; i < s.m; ++i) {
    for (int j = 0; j < s.n; ++j) {
      double sum = 0;
      for (int k = 0; k < s.k; ++k) {
        sum += a[static_cast<std::size_t>(s.a == Form::kPlain ? i * s.lda + k : k * s.lda + i)] *
               b[static_cast<std::size_t>(s.b == Form::kPlain ? k * s.ldb + j : j * s.ldb + k)];
      }
      double& to = c[static_cast<std::size_t>(i * s.ldc + j)];
      to = 2 * sum + 3 * to;
    }
  }
  return c;
}

/// Small whole numbers: every order of additions gives the same bits.
std::vector<double> wholeNumbers(const char* name) {
  RandomNumbers random(5, name);
  std::vector<double> values(400);
  for (double& value : values)
    value = static_cast<double>(random.below(17)) - 8;
  return values;
}

/// All forms, in both precisions, in parts of larger matrices.
template <class Products>
void expectProductsOf(const Products& products) {
  const std::vector<double> a = wholeNumbers("a");
  const std::vector<double> b = wholeNumbers("b");
  const std::vector<double> c = wholeNumbers("c");
  for (const Form formA : {Form::kPlain, Form::kTransposed}) {
    for (const Form formB : {Form::kPlain, Form::kTransposed}) {
      const GemmShape shape{formA, formB, 7, 9, 5, 13, 17, 11};
      std::vector<double> result = c;
      products.gemm(shape, 2.0, a.data(), b.data(), 3.0, result.data());
      EXPECT_EQ(result, naive(shape, a, b, c)) << products.name();
      const std::vector<float> floatA(a.begin(), a.end());
      const std::vector<float> floatB(b.begin(), b.end());
      std::vector<float> floatC(c.begin(), c.end());
      products.gemm(shape, 2.0F, floatA.data(), floatB.data(), 3.0F, floatC.data());
      EXPECT_EQ(std::vector<double>(floatC.begin(), floatC.end()), result) << products.name();
    }
  }
}

TEST(Blas, OwnLoopsAndLibraryMultiplyAlikeInAllForms) {
  expectProductsOf(Blas());
  expectProductsOf(Blas::find());
}

class DeviceBlasTest : public ::testing::Test {
 protected:
  DeviceBlasTest() {
    void* library = ::dlopen(RONDO_CUBLAS_DOUBLE, RTLD_NOW | RTLD_LOCAL);
    testing::CublasDouble* (*stateOf)() = nullptr;
    if (library != nullptr && findFunction(library, "cublasDoubleState", stateOf))
      state_ = stateOf();
  }

  void SetUp() override {
    ASSERT_NE(state_, nullptr);
    *state_ = {};
  }

  static constexpr std::array<const char*, 1> kDouble{RONDO_CUBLAS_DOUBLE};
  testing::CublasDouble* state_ = nullptr;
};

TEST_F(DeviceBlasTest, MultipliesInAllForms) {
  expectProductsOf(DeviceBlas(nullptr, kDouble));
  EXPECT_EQ(state_->handles, 0);
}

TEST_F(DeviceBlasTest, MakesOneHandleOnItsStreamAndGivesItBack) {
  int somewhere = 0;
  {
    const DeviceBlas products(reinterpret_cast<rondoStream_t>(&somewhere), kDouble);
    EXPECT_EQ(products.name(), "cuBLAS 130000");
    EXPECT_EQ(state_->stream, &somewhere);
    const float one = 1;
    float result = 0;
    products.gemm({Form::kPlain, Form::kPlain, 1, 1, 1, 1, 1, 1}, 1.0F, &one, &one, 0.0F, &result);
    EXPECT_EQ(result, 1);
  }
  EXPECT_THAT(state_->calls,
              ElementsAre("cublasCreate_v2", "cublasSetStream_v2", "cublasGetVersion_v2",
                          "cublasSgemm_v2", "cublasDestroy_v2"));
}

TEST_F(DeviceBlasTest, EachCallThatFailsIsAnErrorInItsWordsAndNothingIsLeft) {
  const std::array whats{"making a handle", "setting its stream", "asking for its version",
                         "multiplying"};
  for (std::size_t call = 0; call < whats.size(); ++call) {
    *state_ = {};
    state_->failing = static_cast<int>(call) + 1;
    const auto use = [] {
      const DeviceBlas products(nullptr, kDouble);
      double value = 1;
      products.gemm({Form::kPlain, Form::kPlain, 1, 1, 1, 1, 1, 1}, 1.0, &value, &value, 0.0,
                    &value);
    };
    EXPECT_THAT(
        use, Throws<Error>(Property(&Error::what,
                                    HasSubstr(std::string("cuBLAS, ") + whats[call] +
                                              ": CUBLAS_STATUS_INTERNAL_ERROR (as the double"))));
    EXPECT_EQ(state_->handles, 0) << whats[call];
  }
}

TEST(DeviceBlas, SaysWhatIsMissing) {
  const std::array<const char*, 2> nowhere{"libcublas-nowhere.so.1", "libcublas-nowhere.so.2"};
  EXPECT_THAT([&] { const DeviceBlas products(nullptr, nowhere); },
              Throws<Error>(::testing::AllOf(
                  Property(&Error::result, rondoNotSupported),
                  Property(&Error::what, ::testing::AllOf(HasSubstr("nowhere.so.1"),
                                                          HasSubstr("nowhere.so.2"))))));
  const std::array<const char*, 1> another{"libm.so.6"};
  EXPECT_THAT([&] { const DeviceBlas products(nullptr, another); },
              Throws<Error>(Property(&Error::what, HasSubstr("libm.so.6 has no cublasCreate_v2"))));
}

}  // namespace
}  // namespace rondo::train
