// A rank of `rondo perf` that is a process: its ends of the communicators, and what all ranks tell
// each other besides what is measured.
#pragma once

#include <string>
#include <vector>

#include "rondo/rondo.h"
#include "src/cli/perf/rank_report.h"
#include "src/status.h"

namespace rondo::perf {

/// @threads one at a time
class ProcessRank {
 public:
  /// Joins the other processes that the launcher has started.
  /// @errors those of rondoCommInitFromEnvironment
  static Result<ProcessRank> join();

  ProcessRank(ProcessRank&& other) noexcept;
  ProcessRank& operator=(ProcessRank&&) = delete;
  ~ProcessRank();

  int rank() const { return rank_; }

  int ranks() const { return ranks_; }

  /// By which transports the ranks reach each other: all names, best first, such as "shm+tcp";
  /// "self" if there is one rank. Says so if verbs goes through an emulated adapter.
  const std::string& transports() const { return transports_; }

  /// A communicator of its own for a measurement. Collective.
  /// @errors those of rondoGetUniqueId and rondoCommInitRank
  Result<rondoComm_t> makeCommunicator(const rondoConfig_t& config) const;

  /// All ranks' reports, or failures, by rank. Collective.
  /// @errors those of rondoAllGather
  Result<std::vector<Result<RankReport>>> gather(const Result<RankReport>& own) const;

 private:
  explicit ProcessRank(rondoComm_t control) : control_(control) {}

  Status learnTransports();

  rondoComm_t control_;  ///< never measured, so that what it carries can be believed
  int rank_ = 0;
  int ranks_ = 1;
  std::string transports_;
};

}  // namespace rondo::perf
