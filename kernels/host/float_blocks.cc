#include "kernels/host/float_blocks.h"

#include <algorithm>
#include <cstring>

#include "kernels/codec.h"

namespace rondo::host {

namespace {

std::uint32_t overflowBitsOf(DataType type) {
  switch (type) {
#define RONDO_CASE(name, cppType, bytes, text) \
  case DataType::k##name:                      \
    return kOverflowBits<cppType>;
    RONDO_FOR_EACH_DATA_TYPE(RONDO_CASE)
#undef RONDO_CASE
  }
  return kInfinityBits;
}

void convert(CombineFn convert, Operand from, Target to, std::size_t count) noexcept {
  CombineArgs args;
  args.sources = {&from, 1};
  args.targets = {&to, 1};
  args.elems = count;
  convert(args);
}

}  // namespace

FloatForm::FloatForm(DataType type, SimdTarget target)
    : type_(type),
      overflowBits_(overflowBitsOf(type)),
      convert_(isNarrowFloat(type) ? combineFunction(type, ReduceOp::kSum, target) : nullptr) {}

void FloatForm::widen(const void* elements, std::size_t count, float* values) const noexcept {
  if (convert_ != nullptr) {
    convert(convert_, {elements, Form::kNative}, {values, Form::kAccumulator}, count);
  } else if (type_ == DataType::kFloat64) {
    const auto* from = static_cast<const double*>(elements);
    for (std::size_t i = 0; i < count; ++i)
      values[i] = static_cast<float>(from[i]);
  } else if (values != elements) {
    std::memcpy(values, elements, count * sizeof(float));
  }
}

void FloatForm::narrow(const float* values, std::size_t count, void* elements) const noexcept {
  if (convert_ != nullptr) {
    convert(convert_, {values, Form::kAccumulator}, {elements, Form::kNative}, count);
  } else if (type_ == DataType::kFloat64) {
    auto* to = static_cast<double*>(elements);
    for (std::size_t i = 0; i < count; ++i)
      to[i] = static_cast<double>(values[i]);
  } else if (values != elements) {
    std::memcpy(elements, values, count * sizeof(float));
  }
}

bool FloatForm::overflows(const float* values, std::size_t count) const noexcept {
  return anyReaches(overflowBits_, values, count);
}

void addFloats(const float* values, const float* addends, std::size_t count, float* sums) noexcept {
  for (std::size_t i = 0; i < count; ++i)
    sums[i] = values[i] + addends[i];
}

void subtractFloats(const float* values,
                    const float* subtrahends,
                    std::size_t count,
                    float* differences) noexcept {
  for (std::size_t i = 0; i < count; ++i)
    differences[i] = values[i] - subtrahends[i];
}

void divideFloats(float* values, std::size_t count, float divisor) noexcept {
  for (std::size_t i = 0; i < count; ++i)
    values[i] /= divisor;
}

bool anyReaches(std::uint32_t limit, const float* values, std::size_t count) noexcept {
  // Signed, which is all that baseline registers compare; magnitudes are below 2^31.
  std::int32_t most = 0;
  for (std::size_t i = 0; i < count; ++i)
    most = std::max(most, static_cast<std::int32_t>(magnitudeBits(values[i])));
  return static_cast<std::uint32_t>(most) >= limit;
}

}  // namespace rondo::host
