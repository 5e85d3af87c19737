// Ranks as processes, for tests: forks them, waits for them with a deadline, and kills what is
// left.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "rondo/rondo.h"

namespace rondo::testing {

/// What a rank's process runs; what it returns becomes its exit status. It may not use the parent's
/// threads or GoogleTest's assertions: failures are printed and returned.
using RankBody = std::function<int(int rank, const rondoUniqueId_t& id)>;

class ForkedRanks {
 public:
  /// Makes a unique id and starts `ranks` processes, which begin at once.
  ForkedRanks(int ranks, const RankBody& body);
  /// Kills what still runs.
  ~ForkedRanks();
  ForkedRanks(const ForkedRanks&) = delete;
  ForkedRanks& operator=(const ForkedRanks&) = delete;

  void signal(int rank, int number) const;

  /// Waits until all have ended or `limit` has passed. Fails the test for every rank but `victim`
  /// that has not exited with 0 by then.
  void expectSuccess(std::chrono::milliseconds limit = std::chrono::seconds{60}, int victim = -1);

 private:
  std::vector<pid_t> processes_;
};

/// A point that ranks' processes pass, for a test that goes on when they have. Made before they are
/// forked.
class Milestone {
 public:
  Milestone();
  ~Milestone();
  Milestone(const Milestone&) = delete;
  Milestone& operator=(const Milestone&) = delete;

  /// The rank of this process has come this far; once per rank.
  void pass() const { ++*passed_; }

  /// Waits for `ranks` ranks. @return false if they have not come in a minute
  bool await(int ranks) const;

 private:
  std::atomic<int>* passed_;  // in memory that the processes share
};

/// Where ranks' processes put what they say, for tests that look at it. Made before they are
/// forked.
class RankLogs {
 public:
  RankLogs();
  /// Removes the files.
  ~RankLogs();
  RankLogs(const RankLogs&) = delete;
  RankLogs& operator=(const RankLogs&) = delete;

  /// From now on stdout and stderr of this process go to a file of `rank`.
  void capture(int rank) const;

  /// What `rank` has said so far.
  std::string textOf(int rank) const;

  /// Lines of all ranks that contain `part`.
  std::vector<std::string> linesWith(const std::string& part) const;

 private:
  std::filesystem::path folder_;
};

/// Makes the communicator of a rank with short limits, or prints why not and exits with 100.
rondoComm_t joinOrExit(int ranks,
                       int rank,
                       const rondoUniqueId_t& id,
                       std::int64_t operationTimeoutMs = 20000);

/// 0 if `result` is `wanted` and the last error of `comm` contains all `words`; else prints and
/// gives 1.
int expectFailure(rondoComm_t comm,
                  rondoResult_t result,
                  rondoResult_t wanted,
                  const std::vector<std::string>& words);

}  // namespace rondo::testing
