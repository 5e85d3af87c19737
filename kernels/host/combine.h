// The arithmetic of one step on host memory: fold several sources element by element, in the order
// given, and store the result to several targets, in one pass. The executor calls it once per row
// of a step; which SIMD variant runs is chosen once per communicator.
//
// Rounding, NaN, zero and overflow rules: docs/numerics.md. Every variant gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/data_type.h"

namespace rondo::host {

/// How the elements behind a pointer are stored.
enum class Form : std::uint8_t {
  kNative,       ///< elements of the operation's type
  kAccumulator,  ///< partial sums in the accumulator's type (accumulatorBytes() each)
  kScaled,       ///< source only: native elements, each multiplied by CombineArgs::scale when read
};

/// `elems` consecutive elements to read; `data` needs only the alignment of its element.
struct Operand {
  const void* data = nullptr;
  Form form = Form::kNative;
};

/// `elems` consecutive elements to write; `data` needs only the alignment of its element.
struct Target {
  void* data = nullptr;
  Form form = Form::kNative;  ///< kNative or kAccumulator
};

/// One call's worth of work. Nothing is read or written outside the `elems` elements of each range.
struct CombineArgs {
  /// At least one; folded left to right: ((s0 op s1) op s2) op ...
  std::span<const Operand> sources;
  /// At least one. A target may be the same memory as a source of the same form; other overlap is
  /// not allowed.
  std::span<const Target> targets;
  std::size_t elems = 0;
  /// Avg only. 1 to 2^31 - 1: divide the folded value by this before it is stored (avg's last
  /// step); 0: do not. Other operations need 0.
  std::uint64_t divisor = 0;
  /// Premulsum only. The factor for kScaled sources, in the accumulator's type of (type,
  /// premulsum): points to a float for narrow floats and float, a double for double, an element of
  /// the type for integers. Null if unused.
  const void* scale = nullptr;
};

/// Folds and stores; see CombineArgs. Never fails, allocates or reads a clock.
/// Precondition: round-to-nearest and denormals on (FloatEnvironment sets both).
using CombineFn = void (*)(const CombineArgs& args) noexcept;

/// A compiled variant of the combine loops.
enum class SimdTarget : std::uint8_t { kScalar, kAvx2, kAvx512 };

inline constexpr SimdTarget kAllSimdTargets[] = {SimdTarget::kScalar, SimdTarget::kAvx2,
                                                 SimdTarget::kAvx512};

std::string_view simdTargetName(SimdTarget target);

/// True if this build holds the variant and this processor (and kernel) can run it.
bool simdTargetUsable(SimdTarget target);

/// The widest usable variant.
SimdTarget bestSimdTarget();

/// The loop for (type, op) of one variant; null only where isReducible(type, op) is false.
/// Precondition: simdTargetUsable(target).
CombineFn combineFunction(DataType type, ReduceOp op, SimdTarget target);

/// Copies `bytes` bytes from `source` to each target in one pass. A target equal to the source is
/// skipped; other overlap is not allowed.
void copyToAll(const void* source, std::span<void* const> targets, std::size_t bytes) noexcept;

}  // namespace rondo::host
