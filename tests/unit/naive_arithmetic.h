// A second opinion on the numerical contract, written from docs/numerics.md without a look at
// kernels/element.h: one element at a time, in wider arithmetic, rounded by search in a table.
// Slow.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/data_type.h"
#include "kernels/host/combine.h"

namespace rondo::testing {

/// The bits of an element or of an accumulator, zero-extended.
using Word = std::uint64_t;

/// One source's element.
struct Contribution {
  Word bits = 0;
  host::Form form = host::Form::kNative;
};

/// A float of 8 or 16 bits, given by its field widths.
struct NaiveFormat {
  int exponentBits = 0;
  int mantissaBits = 0;
  bool hasInfinity = true;
};

/// The value of `code`; NaN if it is one.
long double decodeNaive(const NaiveFormat& format, Word code);

/// The code nearest to `value`, ties to the even code.
Word encodeNaive(const NaiveFormat& format, long double value);

NaiveFormat naiveFormatOf(DataType type);

/// What combining one element must give.
/// @param scaleBits the factor of scaled contributions, in the accumulator's type of premulsum
Word naiveCombine(DataType type,
                  ReduceOp op,
                  std::span<const Contribution> contributions,
                  std::uint64_t divisor,
                  Word scaleBits,
                  host::Form targetForm);

/// True if `bits` is a NaN in the given form of (type, op).
bool isNaiveNan(DataType type, ReduceOp op, host::Form form, Word bits);

/// Bytes of an element in that form.
std::size_t formBytes(DataType type, ReduceOp op, host::Form form);

}  // namespace rondo::testing
