// Neighbours on the ring 0 -> 1 -> ... -> n-1 -> 0, and distances around it.
#pragma once

#include "kernels/portability.h"

namespace rondo {

/// The rank `distance` places after `rank`; before it if negative. |distance| may exceed `ranks`.
RONDO_HD constexpr int ringRank(int rank, int distance, int ranks) {
  const int at = (rank + distance) % ranks;
  return at < 0 ? at + ranks : at;
}

}  // namespace rondo
