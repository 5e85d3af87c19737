// What every part of the check is given, and the list of the parts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/net/deadline.h"
#include "tests/gpu_check/gpu.h"
#include "tests/gpu_check/report.h"

namespace rondo::gpucheck {

/// How much is run.
struct Extent {
  bool tiny = false;                  ///< for emulated GPUs and sanitizers: few cases, small sizes
  std::chrono::seconds patience{10};  ///< until a wait for another rank fails
};

/// @threads one at a time
struct Section {
  const Gpus& gpus;
  const Extent& extent;
  Report& report;
  Deadline deadline;  ///< when it is to stop by itself

  /// Whether to stop here; notes it if so.
  bool outOfTime() const {
    if (!deadline.passed()) return false;
    report.cut();
    return true;
  }
};

/// Numbers of ranks that everything is run with.
inline constexpr int kRankCounts[] = {2, 4, 8};

// The sections.
void checkSmoke(const Section& section);
void checkMatrixOfTwo(const Section& section);
void checkMatrixOfFour(const Section& section);
void checkMatrixOfEight(const Section& section);
void checkGraphs(const Section& section);
void checkProcesses(const Section& section);
void checkProducts(const Section& section);
void checkUnderMemcheck(const Section& section);
void checkUnderRacecheck(const Section& section);
void checkUnderSynccheck(const Section& section);
void measureLatency(const Section& section);
void measureBandwidth(const Section& section);
void measureNccl(const Section& section);

}  // namespace rondo::gpucheck
