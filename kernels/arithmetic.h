// What the steps of one operation do to elements, apart from how: the part of a step's work that
// executors on host and device decide alike. The element's arithmetic itself is kernels/element.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/schedule.h"
#include "collectives/step.h"
#include "kernels/data_type.h"
#include "kernels/portability.h"

namespace rondo {

/// The same for all steps of an operation, on all ranks.
struct StepArithmetic {
  bool reduces = false;  ///< false: the operation only moves data
  bool scales = false;   ///< premulsum: own input is multiplied when it is read
  /// A result is 0 or 1, even that of a lone contribution.
  bool truthValues = false;
  std::size_t elemBytes = 1;
  std::size_t accumulatorBytes = 1;  ///< elemBytes where sums are carried in the element's own type
  std::uint64_t divisor = 0;         ///< avg: the number of ranks; else 0

  RONDO_HD constexpr std::size_t wireBytes(Wire wire) const {
    return wire == Wire::kAccumulator ? accumulatorBytes : elemBytes;
  }

  /// True if the result of `step` is its only source, byte for byte.
  RONDO_HD constexpr bool onlyMoves(const Step& step) const {
    if (!reduces) return true;
    if (step.sources() != 1) return false;
    const bool scalesHere = step.own == Source::kInput && scales;
    const bool divides = step.last && divisor != 0;
    const bool widens = accumulatorBytes != elemBytes &&
                        (step.recvWire != Wire::kNative || step.sendWire != Wire::kNative);
    const bool normalises = step.last && truthValues;
    return !scalesHere && !divides && !widens && !normalises;
  }
};

/// Of an operation that moves elements of `type`.
constexpr StepArithmetic moveArithmetic(DataType type) {
  StepArithmetic arithmetic;
  arithmetic.elemBytes = elementBytes(type);
  arithmetic.accumulatorBytes = arithmetic.elemBytes;
  return arithmetic;
}

/// Of an operation that reduces elements of `type` by `op` over `ranks` ranks.
constexpr StepArithmetic reductionArithmetic(DataType type, ReduceOp op, int ranks) {
  StepArithmetic arithmetic = moveArithmetic(type);
  arithmetic.reduces = true;
  arithmetic.scales = op == ReduceOp::kPreMulSum;
  arithmetic.truthValues = type == DataType::kBool;
  arithmetic.accumulatorBytes = accumulatorBytes(type, op);
  if (op == ReduceOp::kAvg) arithmetic.divisor = static_cast<std::uint64_t>(ranks);
  return arithmetic;
}

/// Of any operation. `op` counts where something is reduced.
constexpr StepArithmetic arithmeticOf(Collective collective,
                                      DataType type,
                                      ReduceOp op,
                                      int ranks) {
  return isReduction(collective) ? reductionArithmetic(type, op, ranks) : moveArithmetic(type);
}

}  // namespace rondo
