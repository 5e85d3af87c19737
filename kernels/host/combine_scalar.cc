// The combine loops in plain C++, for every (type, operation): the definition of kernels/element.h
// applied block by block. Compiled for the baseline processor; the compiler may vectorise it.
#include <algorithm>
#include <array>
#include <type_traits>

#include "kernels/element.h"
#include "kernels/host/simd_target.h"

namespace rondo::host {

namespace {

/// Elements whose accumulators are held at once; 64 accumulators of 8 bytes are 512 bytes of stack.
constexpr std::size_t kBlockElems = 64;

template <class R>
using Accumulators = std::array<typename R::Accumulator, kBlockElems>;

/// Calls `use(i, value)` for `count` elements of `source` from `first` on, widened.
template <class R, ReduceOp kOp, class Use>
void forEachWidened(
    const CombineArgs& args, const Operand& source, std::size_t first, std::size_t count, Use use) {
  if constexpr (!std::is_same_v<typename R::Accumulator, typename R::Element>) {
    if (source.form == Form::kAccumulator) {
      const auto* data = static_cast<const typename R::Accumulator*>(source.data) + first;
      for (std::size_t i = 0; i < count; ++i)
        use(i, data[i]);
      return;
    }
  }
  const auto* data = static_cast<const typename R::Element*>(source.data) + first;
  if constexpr (kOp == ReduceOp::kPreMulSum) {
    if (source.form == Form::kScaled) {
      const auto scale = *static_cast<const typename R::Scale*>(args.scale);
      for (std::size_t i = 0; i < count; ++i)
        use(i, R::widenScaled(data[i], scale));
      return;
    }
  }
  for (std::size_t i = 0; i < count; ++i)
    use(i, R::widen(data[i]));
}

template <class R>
void store(const Target& target,
           std::size_t first,
           std::size_t count,
           const Accumulators<R>& values) {
  if (target.form == Form::kAccumulator) {
    std::copy_n(values.begin(), count, static_cast<typename R::Accumulator*>(target.data) + first);
    return;
  }
  auto* data = static_cast<typename R::Element*>(target.data) + first;
  for (std::size_t i = 0; i < count; ++i)
    data[i] = R::narrow(values[i]);
}

template <class T, ReduceOp kOp>
void combine(const CombineArgs& args) noexcept {
  using R = Reduction<T, kOp>;
  Accumulators<R> values;
  for (std::size_t first = 0; first < args.elems; first += kBlockElems) {
    const std::size_t count = std::min(kBlockElems, args.elems - first);
    forEachWidened<R, kOp>(args, args.sources.front(), first, count,
                           [&](std::size_t i, auto value) { values[i] = value; });
    for (const Operand& source : args.sources.subspan(1)) {
      forEachWidened<R, kOp>(args, source, first, count, [&](std::size_t i, auto value) {
        values[i] = R::fold(values[i], value);
      });
    }
    if constexpr (kOp == ReduceOp::kAvg) {
      if (args.divisor > 0) {
        for (std::size_t i = 0; i < count; ++i)
          values[i] = R::divide(values[i], args.divisor);
      }
    }
    for (const Target& target : args.targets)
      store<R>(target, first, count, values);
  }
}

template <DataType kType, ReduceOp kOp>
constexpr CombineFn functionFor() {
  if constexpr (isReducible(kType, kOp)) {
    static_assert(sizeof(AccumulatorOf<ElementOf<kType>, kOp>) == accumulatorBytes(kType, kOp));
    return &combine<ElementOf<kType>, kOp>;
  } else {
    return nullptr;
  }
}

template <DataType kType>
CombineFn functionFor(ReduceOp op) {
  switch (op) {
#define RONDO_CASE(name, text) \
  case ReduceOp::k##name:      \
    return functionFor<kType, ReduceOp::k##name>();
    RONDO_FOR_EACH_REDUCE_OP(RONDO_CASE)
#undef RONDO_CASE
  }
  return nullptr;
}

}  // namespace

CombineFn scalarCombineFunction(DataType type, ReduceOp op) {
  switch (type) {
#define RONDO_CASE(name, cppType, bytes, text) \
  case DataType::k##name:                      \
    return functionFor<DataType::k##name>(op);
    RONDO_FOR_EACH_DATA_TYPE(RONDO_CASE)
#undef RONDO_CASE
  }
  return nullptr;
}

}  // namespace rondo::host
