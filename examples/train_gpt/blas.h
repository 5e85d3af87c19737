// Products of matrices on the host: by OpenBLAS or another library with its interface where one is
// installed (loaded at run time, one thread), else by a plain loop of our own.
#pragma once

#include <string>

namespace rondo::train {

/// Whether a matrix is used as it lies, or transposed.
enum class Form { kPlain, kTransposed };

/// The shape of C = alpha A B + beta C, row by row: A is m x k, B is k x n, in the form that is
/// used. Leading dimensions are those of the matrices as they lie.
struct GemmShape {
  Form a = Form::kPlain;
  Form b = Form::kPlain;
  int m = 0;
  int n = 0;
  int k = 0;
  int lda = 0;
  int ldb = 0;
  int ldc = 0;
};

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

  void gemm(const GemmShape& shape,
            float alpha,
            const float* a,
            const float* b,
            float beta,
            float* c) const;
  void gemm(const GemmShape& shape,
            double alpha,
            const double* a,
            const double* b,
            double beta,
            double* c) const;

 private:
  static Blas load();

  /// cblas_sgemm and cblas_dgemm: order, transpositions, m, n, k, alpha, A, lda, B, ldb, beta, C,
  /// ldc.
  template <class T>
  using Function =
      void (*)(int, int, int, int, int, int, T, const T*, int, const T*, int, T, T*, int);

  std::string name_ = "own loops";
  Function<float> single_ = nullptr;
  Function<double> double_ = nullptr;
};

}  // namespace rondo::train
