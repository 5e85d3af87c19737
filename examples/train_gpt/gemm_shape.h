// What a product of matrices is asked for by, whoever computes it.
#pragma once

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

}  // namespace rondo::train
