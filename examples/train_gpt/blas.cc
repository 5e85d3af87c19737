#include "examples/train_gpt/blas.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <dlfcn.h>

#include "src/loaded_function.h"

namespace rondo::train {

namespace {

constexpr int kRowMajor = 101;  // of cblas.h, as the two below
constexpr int kNoTrans = 111;
constexpr int kTrans = 112;

/// Libraries with cblas functions that are faster than our own, best first.
constexpr std::array kLibraries{"libopenblas.so.0", "libopenblas.so", "libblis.so.4"};
/// By which they are told how many threads to use.
constexpr std::array kThreadSetters{"openblas_set_num_threads", "bli_thread_set_num_threads"};

int cblasForm(Form form) {
  return form == Form::kPlain ? kNoTrans : kTrans;
}

/// B as it is used, row by row.
template <class T>
std::vector<T> transposed(const GemmShape& shape, const T* b) {
  std::vector<T> plain(static_cast<std::size_t>(shape.k) * static_cast<std::size_t>(shape.n));
  for (int column = 0; column < shape.n; ++column) {
    for (int row = 0; row < shape.k; ++row)
      plain[static_cast<std::size_t>(row * shape.n + column)] = b[column * shape.ldb + row];
  }
  return plain;
}

/// Adds up rows of B: an inner loop that compilers turn into vector instructions without changing
/// the order of additions. Sums are over k, from 0 up.
template <class T>
void ownGemm(const GemmShape& shape, T alpha, const T* a, const T* b, T beta, T* c) {
  std::vector<T> plain;
  int ldb = shape.ldb;
  if (shape.b == Form::kTransposed) {
    plain = transposed(shape, b);
    b = plain.data();
    ldb = shape.n;
  }
  const int rowStep = shape.a == Form::kPlain ? shape.lda : 1;
  const int depthStep = shape.a == Form::kPlain ? 1 : shape.lda;
  std::vector<T> sum(static_cast<std::size_t>(shape.n));
  for (int row = 0; row < shape.m; ++row) {
    std::ranges::fill(sum, T{0});
    T* __restrict to = sum.data();
    for (int depth = 0; depth < shape.k; ++depth) {
      const T factor = a[row * rowStep + depth * depthStep];
      const T* __restrict from = b + depth * ldb;
      for (int column = 0; column < shape.n; ++column)
        to[column] += factor * from[column];
    }
    T* result = c + row * shape.ldc;
    for (int column = 0; column < shape.n; ++column) {
      const T scaled = alpha * sum[static_cast<std::size_t>(column)];
      result[column] = beta == T{0} ? scaled : scaled + beta * result[column];
    }
  }
}

void useOneThread(void* library) {
  for (const char* name : kThreadSetters) {
    void (*set)(int) = nullptr;
    if (findFunction(library, name, set)) set(1);
  }
}

}  // namespace

const Blas& Blas::find() {
  static const Blas found = load();
  return found;
}

Blas Blas::load() {
  Blas blas;
  for (const char* name : kLibraries) {
    void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);  // stays until the process ends
    if (library == nullptr) continue;
    auto& [single, twice] = blas.functions_;
    if (findFunction(library, "cblas_sgemm", single) &&
        findFunction(library, "cblas_dgemm", twice)) {
      useOneThread(library);
      blas.name_ = name;
      return blas;
    }
    ::dlclose(library);
  }
  return {};
}

template <class T>
void Blas::gemm(const GemmShape& shape, T alpha, const T* a, const T* b, T beta, T* c) const {
  const Function<T> function = std::get<Function<T>>(functions_);
  if (function == nullptr) return ownGemm(shape, alpha, a, b, beta, c);
  function(kRowMajor, cblasForm(shape.a), cblasForm(shape.b), shape.m, shape.n, shape.k, alpha, a,
           shape.lda, b, shape.ldb, beta, c, shape.ldc);
}

template void Blas::gemm(const GemmShape&, float, const float*, const float*, float, float*) const;
template void Blas::gemm(
    const GemmShape&, double, const double*, const double*, double, double*) const;

}  // namespace rondo::train
