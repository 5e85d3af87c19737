// From a reduction's number to its loop, for one element type: what an entry kernel of that type
// holds. Each loop is compiled once, however many schedules use it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/combine.h"
#include "kernels/cuda/protocol.h"
#include "kernels/data_type.h"

namespace rondo::device {

template <class T, ReduceOp kOp, Protocol kProtocol>
RONDO_DEVICE_OUTLINE void combineRow(const RowWork& row, Wait& wait) {
  RowCombiner<T, kOp, kProtocol>(row, wait).run();
}

template <std::size_t kBytes>
struct MovedElement;

template <>
struct MovedElement<1> {
  using Type = std::uint8_t;
};

template <>
struct MovedElement<2> {
  using Type = std::uint16_t;
};

template <>
struct MovedElement<4> {
  using Type = std::uint32_t;
};

template <>
struct MovedElement<8> {
  using Type = std::uint64_t;
};

template <class E, Protocol kProtocol>
RONDO_DEVICE_OUTLINE void moveElements(const RowWork& row, Wait& wait) {
  moveRow<E, kProtocol>(row, wait);
}

template <DataType kType>
struct TypeCombiner {
  /// All threads of the block.
  RONDO_DEVICE static void move(Protocol protocol, const RowWork& row, Wait& wait) {
    using E = typename MovedElement<elementBytes(kType)>::Type;
    switch (protocol) {
      case Protocol::kStaged:
        return moveElements<E, Protocol::kStaged>(row, wait);
      case Protocol::kLines:
        return moveElements<E, Protocol::kLines>(row, wait);
      case Protocol::kWideLines:
        return moveElements<E, Protocol::kWideLines>(row, wait);
    }
  }

  /// All threads of the block.
  RONDO_DEVICE static void run(ReduceOp op, Protocol protocol, const RowWork& row, Wait& wait) {
    switch (protocol) {
      case Protocol::kStaged:
        return runIn<Protocol::kStaged>(op, row, wait);
      case Protocol::kLines:
        return runIn<Protocol::kLines>(op, row, wait);
      case Protocol::kWideLines:
        return runIn<Protocol::kWideLines>(op, row, wait);
    }
  }

 private:
  template <Protocol kProtocol>
  RONDO_DEVICE static void runIn(ReduceOp op, const RowWork& row, Wait& wait) {
    switch (op) {
#define RONDO_CASE(name, text) \
  case ReduceOp::k##name:      \
    return runOp<ReduceOp::k##name, kProtocol>(row, wait);
      RONDO_FOR_EACH_REDUCE_OP(RONDO_CASE)
#undef RONDO_CASE
    }
  }

  template <ReduceOp kOp, Protocol kProtocol>
  RONDO_DEVICE static void runOp(const RowWork& row, Wait& wait) {
    constexpr bool kThere = kProtocol == Protocol::kStaged || reducesInLines(kType, kOp);
    if constexpr (isReducible(kType, kOp) && kThere)
      combineRow<ElementOf<kType>, kOp, kProtocol>(row, wait);
  }
};

}  // namespace rondo::device
