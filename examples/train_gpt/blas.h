// Products of matrices on the host: by OpenBLAS or another library with its interface where one is
// installed (loaded at run time, one thread), else by a plain loop of our own.
#pragma once

#include <string>
#include <tuple>

#include "examples/train_gpt/gemm_shape.h"

namespace rondo::train {

/// @threads any; products in different threads are independent. The same inputs give the same bits.
class Blas {
 public:
  /// The loop of our own.
  Blas() = default;

  /// The first of the known libraries that loads, else our own. It is told to use one thread: ranks
  /// are what runs in parallel.
  /// It is looked for once in a process.
  static const Blas& find();

  /// What computes, for people.
  const std::string& name() const { return name_; }

  /// @tparam T float or double
  template <class T>
  void gemm(const GemmShape& shape, T alpha, const T* a, const T* b, T beta, T* c) const;

 private:
  static Blas load();

  /// cblas_sgemm and cblas_dgemm: order, transpositions, m, n, k, alpha, A, lda, B, ldb, beta, C,
  /// ldc.
  template <class T>
  using Function =
      void (*)(int, int, int, int, int, int, T, const T*, int, const T*, int, T, T*, int);

  std::string name_ = "own loops";
  std::tuple<Function<float>, Function<double>> functions_{};
};

extern template void Blas::gemm(
    const GemmShape&, float, const float*, const float*, float, float*) const;
extern template void Blas::gemm(
    const GemmShape&, double, const double*, const double*, double, double*) const;

}  // namespace rondo::train
