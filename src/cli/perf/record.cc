#include "src/cli/perf/record.h"

#include "src/cli/perf/bandwidth.h"

namespace rondo::perf {

std::vector<std::pair<std::string, nlohmann::json>> recordOf(const Row& row,
                                                             Placement placement,
                                                             const Measurement& measurement,
                                                             const PerfOptions& options) {
  constexpr double kMicros = 1e6;
  const Case& what = row.what;
  const double seconds = measurement.seconds(options.timeOf);
  const Bandwidth bandwidth = bandwidthOf(what.collective, options.ranks, what.bytes, seconds);
  nlohmann::json wrong;  // null: not checked
  if (measurement.checked) wrong = measurement.wrong;
  return {
      {"operation", operationName(operationOf(what))},
      {"algorithm", algorithmText(what)},
      {"ranks", options.ranks},
      {"transport", options.transport},
      {"size_bytes", what.bytes},
      {"count", what.count},
      {"type", dataTypeName(what.type)},
      {"redop", redOpText(what)},
      {"root", rootOrNone(what)},
      {"placement", placementName(placement)},
      {"buffers", bufferKindName(options.buffers)},
      {"time_us", seconds * kMicros},
      {"time_rank0_us", measurement.rank0Seconds * kMicros},
      {"time_min_us", measurement.fastestSeconds * kMicros},
      {"time_avg_us", measurement.averageSeconds * kMicros},
      {"time_max_us", measurement.slowestSeconds * kMicros},
      {"algbw_gbs", bandwidth.algorithmGBs},
      {"busbw_gbs", bandwidth.busGBs},
      {"wrong", wrong},
      {"iterations", options.iterations},
      {"warmups", options.warmups},
      {"cycle", row.cycle},
  };
}

}  // namespace rondo::perf
