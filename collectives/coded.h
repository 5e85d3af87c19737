// Which algorithms can carry codes in place of elements, and of which blocks their steps are:
// compressed operations are made with these.
#pragma once

#include <cstddef>
#include <string_view>

#include "collectives/schedule.h"
#include "collectives/step.h"
#include "kernels/portability.h"

namespace rondo {

/// The algorithm of `collective` whose elements may be blocks of several, encoded in slots: each
/// contribution travels to one rank that adds, each sum is complete before it travels on, all steps
/// have one row, and a rank's peers are all others. Empty: there is none.
constexpr std::string_view codedAlgorithmName(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return "two_shot";
    case Collective::kReduceScatter:
    case Collective::kAllGather:
      return "direct";
    default:
      return {};
  }
}

/// The first of the blocks that `step` is about, in the buffer with the most elements.
RONDO_HD constexpr std::size_t firstCodedBlock(Collective collective, const Step& step) {
  return collective == Collective::kAllGather ? step.outputOffset : step.inputOffset;
}

}  // namespace rondo
