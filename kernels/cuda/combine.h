// The arithmetic of one step in a kernel: the threads of a block fold several sources element by
// element, in the order given, and store the result to several targets, in one pass. The device's
// twin of kernels/host/combine.h, with the same bits (kernels/element.h is the arithmetic of both).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/conversion.h"
#include "kernels/cuda/place.h"

namespace rondo::device {

/// One row of a step. Sources are the slots in `recv` with `own` at its own position among them.
struct RowWork {
  const Place* recv = nullptr;  ///< in the block's shared memory
  const Place* send = nullptr;
  int recvCount = 0;
  int sendCount = 0;
  int ownPosition = -1;  ///< -1: no own source
  bool sinks = false;    ///< whether `sink` is a target, too
  Place own;
  Place sink;
  std::size_t recvBytes = 0;  ///< where the row starts in the received slots
  std::size_t sendBytes = 0;  ///< and in the sent ones
  std::size_t elems = 0;
  std::uint64_t divisor = 0;  ///< avg's last step: the number of ranks; else 0
  std::uint64_t scale = 0;    ///< see RankWork

  RONDO_DEVICE int sources() const { return recvCount + (ownPosition >= 0 ? 1 : 0); }

  RONDO_DEVICE Place source(int index) const {
    if (index == ownPosition) return own;
    const bool afterOwn = ownPosition >= 0 && index > ownPosition;
    return recv[index - (afterOwn ? 1 : 0)].at(recvBytes);
  }

  RONDO_DEVICE int targets() const { return sendCount + (sinks ? 1 : 0); }

  RONDO_DEVICE Place target(int index) const {
    return index < sendCount ? send[index].at(sendBytes) : sink;
  }
};

/// One row under (T, kOp) of kernels/element.h, by all threads of a block.
/// @tparam kLines whether slots are in lines
template <class T, ReduceOp kOp, bool kLines>
class RowCombiner {
 public:
  RONDO_DEVICE RowCombiner(const RowWork& row, Wait& wait) : row_(row), wait_(wait) {}

  RONDO_DEVICE void run() {
    const std::size_t groups = ceilDiv(row_.elems, kElems);
    for (std::size_t group = threadIndex(); group < groups; group += blockThreads()) {
      const std::size_t left = row_.elems - group * kElems;
      combineGroup(group, left < kElems ? static_cast<unsigned>(left) : kElems);
      if (wait_.givenUp()) return;
    }
  }

 private:
  using R = KernelReduction<T, kOp>;
  using Accumulator = typename R::Accumulator;

  /// Elements that a thread has in its registers at a time.
  static constexpr unsigned kElems = sizeof(Pack) / sizeof(T);

  using Natives = Group<T, kElems>;
  using Sums = Group<Accumulator, kElems>;

  RONDO_DEVICE void combineGroup(std::size_t group, unsigned count) {
    Sums sum;
    take<true>(sum, row_.source(0), group, count);
    for (int i = 1; i < row_.sources(); ++i)
      take<false>(sum, row_.source(i), group, count);
    if constexpr (kDivides) {
      if (row_.divisor != 0) {
        for (unsigned k = 0; k < kElems; ++k)
          sum.elems[k] = R::divide(sum.elems[k], row_.divisor);
      }
    }
    if (wait_.givenUp()) return;  // nobody must take what is in the registers for a result
    for (int i = 0; i < row_.targets(); ++i)
      store(row_.target(i), group, sum, count);
  }

  /// Folds a group of one source into `sum`, or, the first, makes it the sum.
  template <bool kFirst>
  RONDO_DEVICE void take(Sums& sum, const Place& place, std::size_t group, unsigned count) {
    if constexpr (kWidens) {
      if (place.form == Form::kAccumulator) {
        Sums next;
        loadGroup<kLines>(next, place, group, count, wait_);
        for (unsigned k = 0; k < kElems; ++k)
          fold<kFirst>(sum.elems[k], next.elems[k]);
        return;
      }
    }
    Natives natives;
    loadGroup<kLines>(natives, place, group, count, wait_);
    if constexpr (kScales) {
      if (place.form == Form::kScaled) {
        const auto factor = scale();
        for (unsigned k = 0; k < kElems; ++k)
          fold<kFirst>(sum.elems[k], R::widenScaled(natives.elems[k], factor));
        return;
      }
    }
    for (unsigned k = 0; k < kElems; ++k)
      fold<kFirst>(sum.elems[k], R::widen(natives.elems[k]));
  }

  template <bool kFirst>
  RONDO_DEVICE static void fold(Accumulator& sum, Accumulator next) {
    if constexpr (kFirst) {
      sum = next;
    } else {
      sum = R::fold(sum, next);
    }
  }

  RONDO_DEVICE void store(const Place& place, std::size_t group, const Sums& sum, unsigned count) {
    if constexpr (kWidens) {
      if (place.form == Form::kAccumulator) {
        storeGroup<kLines>(place, group, sum, count);
        return;
      }
    }
    Natives natives;
    for (unsigned k = 0; k < kElems; ++k)
      natives.elems[k] = R::narrow(sum.elems[k]);
    storeGroup<kLines>(place, group, natives, count);
  }

  RONDO_DEVICE typename R::Scale scale() const {
    typename R::Scale factor;
    __builtin_memcpy(&factor, &row_.scale, sizeof factor);
    return factor;
  }

  /// Otherwise the accumulator's form is the native one.
  static constexpr bool kWidens = !std::is_same_v<Accumulator, T>;
  static constexpr bool kDivides = kOp == ReduceOp::kAvg;
  static constexpr bool kScales = kOp == ReduceOp::kPreMulSum;

  const RowWork& row_;
  Wait& wait_;
};

/// One row whose result is its only source, byte for byte.
/// @tparam E an unsigned integer as large as an element
template <class E, bool kLines>
RONDO_DEVICE void moveRow(const RowWork& row, Wait& wait) {
  constexpr unsigned kElems = sizeof(Pack) / sizeof(E);
  const Place from = row.source(0);
  const std::size_t groups = ceilDiv(row.elems, kElems);
  for (std::size_t group = threadIndex(); group < groups; group += blockThreads()) {
    const std::size_t left = row.elems - group * kElems;
    const unsigned count = left < kElems ? static_cast<unsigned>(left) : kElems;
    Group<E, kElems> elems;
    loadGroup<kLines>(elems, from, group, count, wait);
    if (wait.givenUp()) return;
    for (int i = 0; i < row.targets(); ++i)
      storeGroup<kLines>(row.target(i), group, elems, count);
  }
}

}  // namespace rondo::device
