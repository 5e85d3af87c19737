// A measurement as one flat list of names and values: what JSON lines and CSV both write.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "src/cli/perf/case.h"
#include "src/cli/perf/options.h"

namespace rondo::perf {

/// In the order of the columns. Times are in microseconds, bandwidths in 10^9 bytes per second;
/// `time_us` and the bandwidths are of the rank or average that -a chose.
std::vector<std::pair<std::string, nlohmann::json>> recordOf(const Row& row,
                                                             Placement placement,
                                                             const Measurement& measurement,
                                                             const PerfOptions& options);

}  // namespace rondo::perf
