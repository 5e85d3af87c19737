// The ranks of a measurement: communicators of threads, and a thread for each while a case runs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rondo/rondo.h"
#include "src/cli/perf/case.h"
#include "src/cli/perf/options.h"
#include "src/cli/perf/predictable.h"
#include "src/status.h"

namespace rondo::perf {

/// What one rank found out about one case and placement.
struct RankReport {
  double secondsPerCall = 0;
  std::size_t wrong = 0;
  std::string problem;  ///< of the check; empty: none
};

/// Whether communicators can be configured as the options and the environment say.
/// @errors InvalidArgument, naming the field or variable
Status checkConfig(const PerfOptions& options);

/// @threads one at a time
class RankTeam {
 public:
  /// @param algorithm for `collective`; empty: the planner's choice
  /// @errors those of rondoCommInitAll
  static Result<RankTeam> create(const PerfOptions& options,
                                 Collective collective,
                                 std::optional<AlgorithmId> algorithm);

  RankTeam(RankTeam&&) noexcept = default;
  RankTeam& operator=(RankTeam&&) = delete;
  ~RankTeam();

  /// Times and checks one case on all ranks.
  /// @return by rank
  /// @errors NotSupported (the team works on); others: the first failure, and the team is of no use
  Result<std::vector<RankReport>> run(const PerfOptions& options,
                                      const Case& what,
                                      const PredictableData& data,
                                      Placement placement);

 private:
  RankTeam() = default;

  std::vector<rondoComm_t> comms_;
};

}  // namespace rondo::perf
