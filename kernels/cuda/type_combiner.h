// From a reduction's number to its loop, for one element type: what an entry kernel of that type
// holds. Each loop is compiled once, however many schedules use it.
#pragma once

#include "kernels/cuda/combine.h"
#include "kernels/data_type.h"

namespace rondo::device {

template <class T, ReduceOp kOp, bool kLines>
RONDO_DEVICE_OUTLINE void combineRow(const RowWork& row, Wait& wait) {
  RowCombiner<T, kOp, kLines>(row, wait).run();
}

template <DataType kType>
struct TypeCombiner {
  /// All threads of the block.
  RONDO_DEVICE static void run(ReduceOp op, bool lines, const RowWork& row, Wait& wait) {
    lines ? runIn<true>(op, row, wait) : runIn<false>(op, row, wait);
  }

 private:
  template <bool kLines>
  RONDO_DEVICE static void runIn(ReduceOp op, const RowWork& row, Wait& wait) {
    switch (op) {
#define RONDO_CASE(name, text) \
  case ReduceOp::k##name:      \
    return runOp<ReduceOp::k##name, kLines>(row, wait);
      RONDO_FOR_EACH_REDUCE_OP(RONDO_CASE)
#undef RONDO_CASE
    }
  }

  template <ReduceOp kOp, bool kLines>
  RONDO_DEVICE static void runOp(const RowWork& row, Wait& wait) {
    if constexpr (isReducible(kType, kOp)) combineRow<ElementOf<kType>, kOp, kLines>(row, wait);
  }
};

}  // namespace rondo::device
