// The arithmetic of one step in a kernel: the threads of a block fold several sources element by
// element, in the order given, and store the result to several targets, in one pass. The device's
// twin of kernels/host/combine.h, with the same bits (kernels/element.h is the arithmetic of both).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/conversion.h"
#include "kernels/cuda/place.h"
#include "kernels/cuda/portion.h"

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
  std::size_t recvBytes = 0;  ///< of memory, from the start of the received slots to the row
  std::size_t sendBytes = 0;  ///< and of the sent ones
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
template <class T, ReduceOp kOp, Protocol kProtocol>
class RowCombiner {
 public:
  RONDO_DEVICE RowCombiner(const RowWork& row, Wait& wait) : row_(row), wait_(wait) {}

  RONDO_DEVICE void run() {
    forEachPortion<kProtocol, sizeof(T)>(row_.elems, [this](const Its& portion) {
      combine(portion);
      return !wait_.givenUp();
    });
  }

 private:
  using R = KernelReduction<T, kOp>;
  using Accumulator = typename R::Accumulator;
  using Sum = typename R::Sum;

  using Its = Portion<kProtocol, sizeof(T)>;

  static constexpr unsigned kElems = Its::kElems;

  /// Accumulators that are moved at once: two packs, to leave registers for the sums.
  static constexpr unsigned kNext = kElems * sizeof(Accumulator) > sizeof(Pack)
                                        ? 2 * sizeof(Pack) / sizeof(Accumulator)
                                        : kElems;

  using Natives = Group<T, kElems>;

  struct Sums {
    Sum elems[kElems];
  };

  RONDO_DEVICE void combine(const Its& portion) {
    Sums sum;
    take<true>(sum, row_.source(0), portion);
    for (int i = 1; i < row_.sources(); ++i)
      take<false>(sum, row_.source(i), portion);
    if constexpr (kDivides) {
      if (row_.divisor != 0) {
        for (unsigned k = 0; k < kElems; ++k)
          sum.elems[k] = R::divide(sum.elems[k], row_.divisor);
      }
    }
    if (wait_.givenUp()) return;  // nobody must take what is in the registers for a result
    for (int i = 0; i < row_.targets(); ++i)
      store(row_.target(i), portion, sum);
  }

  /// Folds a portion of one source into `sum`, or, the first, makes it the sum.
  template <bool kFirst>
  RONDO_DEVICE void take(Sums& sum, const Place& place, const Its& portion) {
    if constexpr (kWidens) {
      if (place.form == Form::kAccumulator) {
        for (unsigned at = 0; at < kElems; at += kNext) {
          Group<Accumulator, kNext> next;
          loadGroup(next, place, portion, at, wait_);
          for (unsigned k = 0; k < kNext; ++k)
            fold<kFirst>(sum.elems[at + k], static_cast<Sum>(next.elems[k]));
        }
        return;
      }
    }
    Natives natives;
    loadGroup(natives, place, portion, 0, wait_);
    if constexpr (kScales) {
      if (place.form == Form::kScaled) {
        const auto factor = scale();
        for (unsigned k = 0; k < kElems; ++k)
          fold<kFirst>(sum.elems[k], R::widenScaled(spread(natives, k), factor));
        return;
      }
    }
    for (unsigned k = 0; k < kElems; ++k)
      fold<kFirst>(sum.elems[k], R::widen(spread(natives, k)));
  }

  template <bool kFirst>
  RONDO_DEVICE static void fold(Sum& sum, Sum next) {
    if constexpr (kFirst) {
      sum = next;
    } else {
      sum = R::fold(sum, next);
    }
  }

  RONDO_DEVICE void store(const Place& place, const Its& portion, const Sums& sum) {
    if constexpr (kWidens) {
      if (place.form == Form::kAccumulator) {
        for (unsigned at = 0; at < kElems; at += kNext) {
          Group<Accumulator, kNext> next;
          for (unsigned k = 0; k < kNext; ++k)
            next.elems[k] = sum.elems[at + k];
          storeGroup(place, portion, at, next);
        }
        return;
      }
    }
    Natives natives;
    for (unsigned k = 0; k < kElems; ++k)
      natives.elems[k] = R::narrow(sum.elems[k]);
    gather(natives);
    storeGroup(place, portion, 0, natives);
  }

  // The thread that has the mark of a wide line has half a pack of data in it, of accumulators as
  // of natives. So its sums lie in the lower halves of their packs, and natives, which are in one
  // half, are spread over those, and gathered again.

  /// The native element that belongs to sum `k`.
  RONDO_DEVICE static T spread(const Natives& natives, unsigned k) {
    if constexpr (kSpreads) {
      if (hasMarkOfLine()) return natives.elems[k / kPackSums * kHalfSums + k % kHalfSums];
    }
    return natives.elems[k];
  }

  /// From where the sums are to where natives are.
  RONDO_DEVICE static void gather(Natives& natives) {
    if constexpr (kSpreads) {
      if (!hasMarkOfLine()) return;
      for (unsigned k = 0; k < kElems / 2; ++k)
        natives.elems[k] = natives.elems[k / kHalfSums * kPackSums + k % kHalfSums];
    }
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
  static constexpr bool kSpreads = kWidens && kProtocol == Protocol::kWideLines;

  /// Sums in a pack, and in half of one.
  static constexpr unsigned kPackSums = sizeof(Pack) / sizeof(Accumulator);
  static constexpr unsigned kHalfSums = kPackSums / 2;

  const RowWork& row_;
  Wait& wait_;
};

/// One row whose result is its only source, byte for byte.
/// @tparam E an unsigned integer as large as an element
template <class E, Protocol kProtocol>
RONDO_DEVICE void moveRow(const RowWork& row, Wait& wait) {
  using Its = Portion<kProtocol, sizeof(E)>;
  const Place from = row.source(0);
  forEachPortion<kProtocol, sizeof(E)>(row.elems, [&](const Its& portion) {
    Group<E, Its::kElems> elems;
    loadGroup(elems, from, portion, 0, wait);
    if (wait.givenUp()) return false;
    for (int i = 0; i < row.targets(); ++i)
      storeGroup(row.target(i), portion, 0, elems);
    return true;
  });
}

}  // namespace rondo::device
