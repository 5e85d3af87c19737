// The ranks of a measurement: communicators of threads, and a thread for each while a case runs; or
// the one rank that is this process.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rondo/rondo.h"
#include "src/cli/perf/case.h"
#include "src/cli/perf/options.h"
#include "src/cli/perf/predictable.h"
#include "src/cli/perf/process_rank.h"
#include "src/cli/perf/rank_report.h"
#include "src/status.h"

namespace rondo::perf {

struct RankWork;

/// Whether communicators can be configured as the options and the environment say.
/// @errors InvalidArgument, naming the field or variable
Status checkConfig(const PerfOptions& options);

/// @threads one at a time
class RankTeam {
 public:
  /// @param rules algorithms as src/plan_rule.h writes them; empty: the planner's choice
  /// @param self  must outlive the team; null: ranks are threads
  /// @errors those of rondoCommInitAll, or of ProcessRank::makeCommunicator()
  static Result<RankTeam> create(const PerfOptions& options,
                                 const std::string& rules,
                                 const ProcessRank* self);

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

  std::vector<Result<RankReport>> runThreads(const RankWork& work) const;

  std::vector<rondoComm_t> comms_;  ///< of the ranks that this process has
  const ProcessRank* self_ = nullptr;
};

}  // namespace rondo::perf
