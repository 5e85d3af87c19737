// `rondo perf`: measures and checks operations over a sweep of sizes.
#pragma once

#include "src/cli/perf/options.h"
#include "src/cli/perf/process_rank.h"
#include "src/status.h"

namespace rondo::perf {

/// What the run found.
struct Verdict {
  bool allRight = true;  ///< no element was wrong, or none was checked
};

/// Runs everything and reports it as it goes.
/// @errors InvalidArgument (options that this library or memory cannot do), and the library's own
/// @param self this process's rank, which must be among `options.ranks`; only rank 0 reports. Null:
///   ranks are threads.
Result<Verdict> runPerf(const PerfOptions& options, const ProcessRank* self);

}  // namespace rondo::perf
