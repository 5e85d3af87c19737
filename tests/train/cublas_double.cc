#include "tests/train/cublas_double.h"

#include <cstddef>
#include <cstdlib>

namespace rondo::testing {

namespace {

constexpr int kSuccess = 0;
constexpr int kInternalError = 14;  // CUBLAS_STATUS_INTERNAL_ERROR
constexpr int kTranspose = 1;       // CUBLAS_OP_T

/// Notes a call; whether it may go on.
bool enter(const char* name) {
  CublasDouble& state = *cublasDoubleState();
  state.calls.emplace_back(name);
  return static_cast<int>(state.calls.size()) != state.failing;
}

/// Whether this product, counted from 1, is the one that shall be wrong.
bool spoils() {
  static int products = 0;
  const char* wrong = std::getenv("RONDOTEST_WRONG_PRODUCT");  // NOLINT(concurrency-mt-unsafe)
  return wrong != nullptr && std::atoi(wrong) == ++products;
}

/// Element (row, column) of a matrix that is used as it lies, column by column, or transposed.
template <class T>
T at(const T* matrix, int leading, int form, int row, int column) {
  const auto place = form == kTranspose ? column + row * std::ptrdiff_t{leading}
                                        : row + column * std::ptrdiff_t{leading};
  return matrix[place];
}

template <class T>
struct Operand {
  const T* values;
  int leading;
  int form;
};

struct Sizes {
  int m, n, k;
};

/// C of leading dimension `ldc` becomes alpha A B + beta C.
template <class T>
void multiply(const Sizes& sizes, T alpha, const Operand<T> (&of)[2], T beta, T* c, int ldc) {
  const auto& [a, b] = of;
  for (int row = 0; row < sizes.m; ++row) {
    for (int column = 0; column < sizes.n; ++column) {
      T sum{};
      for (int i = 0; i < sizes.k; ++i)
        sum += at(a.values, a.leading, a.form, row, i) * at(b.values, b.leading, b.form, i, column);
      T& result = c[row + column * std::ptrdiff_t{ldc}];
      result = alpha * sum + beta * result;
    }
  }
  if (spoils()) c[0] += T{1};
}

}  // namespace

extern "C" {

CublasDouble* cublasDoubleState() {
  static CublasDouble state;
  return &state;
}

int cublasCreate_v2(void** handle) {
  if (!enter("cublasCreate_v2")) return kInternalError;
  ++cublasDoubleState()->handles;
  *handle = cublasDoubleState();
  return kSuccess;
}

int cublasDestroy_v2(void* /*handle*/) {
  --cublasDoubleState()->handles;
  return enter("cublasDestroy_v2") ? kSuccess : kInternalError;
}

int cublasSetStream_v2(void* /*handle*/, void* stream) {
  if (!enter("cublasSetStream_v2")) return kInternalError;
  cublasDoubleState()->stream = stream;
  return kSuccess;
}

int cublasGetVersion_v2(void* /*handle*/, int* version) {
  if (!enter("cublasGetVersion_v2")) return kInternalError;
  *version = 130000;
  return kSuccess;
}

const char* cublasGetStatusName(int status) {
  return status == kInternalError ? "CUBLAS_STATUS_INTERNAL_ERROR" : "CUBLAS_STATUS_SUCCESS";
}

const char* cublasGetStatusString(int /*status*/) {
  return "as the double says";
}

#define RONDO_GEMM(symbol, T)                                                                     \
  int symbol(void* handle, int formA, int formB, int m, int n, int k, const T* alpha, const T* a, \
             int lda, const T* b, int ldb, const T* beta, T* c, int ldc) {                        \
    if (!enter(#symbol) || handle == nullptr) return kInternalError;                              \
    multiply<T>({m, n, k}, *alpha, {{a, lda, formA}, {b, ldb, formB}}, *beta, c, ldc);            \
    return kSuccess;                                                                              \
  }
RONDO_GEMM(cublasSgemm_v2, float)
RONDO_GEMM(cublasDgemm_v2, double)
#undef RONDO_GEMM
}

}  // namespace rondo::testing
