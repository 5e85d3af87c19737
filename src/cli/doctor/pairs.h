// How fast ranks of this host reach each other: what was measured between each two, as numbers and
// as findings. pair_ranks.h measures.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "src/cli/doctor/finding.h"
#include "src/status.h"

namespace rondo::doctor {

/// Of an all-reduce, which tells latency: an answer depends on both ranks.
inline constexpr std::size_t kLatencyBytes = 8;
/// From each rank to the other at the same time, by an all-gather, which tells bandwidth.
inline constexpr std::size_t kBandwidthBytes = std::size_t{4} << 20;

/// Of two ranks.
struct PairSpeed {
  int one = 0;  ///< the lower rank
  int other = 0;
  std::string transport;
  double latencyUs = 0;
  double bandwidthGBs = 0;  ///< each way
};

struct PairFacts {
  int ranks = 0;       ///< 0: nothing was to be measured
  int processors = 1;  ///< that they may use
  std::string whyNot;  ///< nothing was measured though it should be; empty: it was
  Status measured;     ///< of measuring
  std::vector<PairSpeed> speeds;
};

/// Pairs that are much slower than the others, and what is not as it should be for all. Pure.
Findings examine(const PairFacts& facts);

/// Matrices by rank: latency, bandwidth, and the transport where it is not the same for all. Empty
/// if nothing was measured. Pure.
std::string matrixText(const PairFacts& facts);

}  // namespace rondo::doctor
