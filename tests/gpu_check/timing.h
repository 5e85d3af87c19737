// How long calls on GPUs take: the events of several batches, and how far the batches are apart.
#pragma once

#include <functional>
#include <vector>

#include "tests/gpu_check/rank_team.h"
#include "tests/gpu_check/report.h"

namespace rondo::gpucheck {

/// How often something is repeated.
struct Repetitions {
  int batches = 7;  ///< odd, so that one of them is the median
  int calls = 20;   ///< of each batch

  /// Batches of some milliseconds for operations of `bytes`; the least in a tiny run.
  static Repetitions forBytes(std::size_t bytes, bool tiny);
};

/// Times of one call: the average of each batch, and of these the median, the least, the most.
struct Timing {
  double medianSeconds = 0;
  double fastestSeconds = 0;
  double slowestSeconds = 0;
  Repetitions repetitions;

  /// In microseconds.
  Json json() const;
  std::string text() const;
};

/// @param perCall seconds of a call in each batch; not empty
Timing summarise(std::vector<double> perCall, Repetitions repetitions);

/// Times what one stream does, of which nobody else is part.
/// @param queue queues it once
Result<Timing> timeStream(const Gpu& gpu,
                          const GpuStream& stream,
                          Repetitions repetitions,
                          const std::function<Status()>& queue);

/// Times what all ranks do together: a batch begins when all have come to it, and takes as long as
/// the slowest rank's part.
/// @param queue queues a rank's part of it once
Result<Timing> timeTeam(GpuTeam& team,
                        Repetitions repetitions,
                        const std::function<Status(GpuRank&)>& queue);

}  // namespace rondo::gpucheck
