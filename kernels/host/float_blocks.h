// Short runs of floats in the first-level cache: between elements of any float type and what codecs
// work on, fp32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/data_type.h"
#include "kernels/host/combine.h"

namespace rondo::host {

/// Elements of one float type as fp32, and back. A double is rounded to nearest; narrower types
/// fp32 holds.
class FloatForm {
 public:
  /// @param type a float: isFloat()
  FloatForm(DataType type, SimdTarget target);

  DataType type() const { return type_; }

  std::size_t elemBytes() const { return elementBytes(type_); }

  /// Whether elements are fp32 as they are.
  bool isPlain() const { return type_ == DataType::kFloat32; }

  /// `count` elements as fp32. The ranges must not overlap; with fp32 they may be the same.
  void widen(const void* elements, std::size_t count, float* values) const noexcept;

  /// `count` elements from fp32: rounded to nearest, once.
  void narrow(const float* values, std::size_t count, void* elements) const noexcept;

  /// Whether one of `values` is not finite, or becomes so by narrow().
  bool overflows(const float* values, std::size_t count) const noexcept;

 private:
  DataType type_;
  std::uint32_t overflowBits_;
  CombineFn convert_;  // null for fp32 and double
};

/// sums[i] = values[i] + addends[i]. `sums` may be one of the others.
void addFloats(const float* values, const float* addends, std::size_t count, float* sums) noexcept;

/// differences[i] = values[i] - subtrahends[i]. `differences` may be one of the others.
void subtractFloats(const float* values,
                    const float* subtrahends,
                    std::size_t count,
                    float* differences) noexcept;

/// values[i] /= divisor.
void divideFloats(float* values, std::size_t count, float divisor) noexcept;

/// Whether magnitudeBits() of one of `values` is `limit` or more.
bool anyReaches(std::uint32_t limit, const float* values, std::size_t count) noexcept;

}  // namespace rondo::host
