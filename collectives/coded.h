// Which algorithms can carry codes in place of elements: compressed operations are made with these.
#pragma once

#include <string_view>

#include "collectives/schedule.h"

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

}  // namespace rondo
