// The communicators of all ranks of a test, made through the C API, and what the tests know of how
// they will carry out a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rondo/rondo.h"
#include "src/planner.h"

namespace rondo::testing {

/// What a test chooses; everything else is left at its default.
struct CommunicatorSettings {
  int ranks = 1;
  std::string algorithm{};  ///< as rondoConfig_t::algorithm; empty: the planner's choice
  bool reproducible = false;
  int channels = 0;            ///< 0: the planner's choice
  std::size_t chunkBytes = 0;  ///< 0: the planner's choice
  int slots = 0;               ///< 0: the planner's choice
  std::int64_t operationTimeoutMs = RONDO_UNDEFINED;
  std::int64_t warningMs = RONDO_UNDEFINED;
  /// As rondoConfig_t::logLevel. Tests that provoke refusals would fill the log with warnings.
  std::string logLevel = "warn";

  friend bool operator==(const CommunicatorSettings&, const CommunicatorSettings&) = default;
};

/// "all_reduce:ring" for the algorithm of that row.
std::string forcedBy(AlgorithmId id);

/// Which host each of `ranks` ranks believes to be on; empty where all are on the one they are on.
/// RONDOTEST_HOSTS says how many hosts there are: each has as many ranks as the next, as far as
/// that is possible, one behind the other, or with RONDOTEST_SCATTER in turn.
std::vector<int> hostsOfRanks(int ranks);

/// @threads members of different ranks may be used at the same time.
class Communicators {
 public:
  /// Fails the test if they cannot be made; then ranks() is 0.
  explicit Communicators(const CommunicatorSettings& settings);
  /// Destroys those that are left.
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  int ranks() const { return static_cast<int>(handles_.size()); }

  rondoComm_t operator[](int rank) const { return handles_[static_cast<std::size_t>(rank)]; }

  const CommunicatorSettings& settings() const { return settings_; }

  /// Gives up the handle of `rank`.
  rondoResult_t destroy(int rank);

  /// Ends whatever the ranks are waiting for.
  void abort() const;

  /// How the library will carry out `request`.
  Result<Plan> plan(const PlanRequest& request) const;

 private:
  CommunicatorSettings settings_;
  std::vector<rondoComm_t> handles_;
  bool mailboxes_ = false;  // whether small calls on host memory go through them
};

}  // namespace rondo::testing
