// Finds out when ranks wait for gradients that others do not have: a thread on each rank tells the
// others, now and then, how far this one is.
//
// The threads meet on a communicator of their own, so that they also talk while the ranks' own
// threads stand still.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "rondo/rondo.hpp"
#include "src/train/mark_ledger.h"

namespace rondo::train {

/// How far a rank is.
struct PassProgress {
  std::uint64_t pass = 0;
  std::vector<std::uint8_t> ready{};  ///< by tensor: 1 if its gradient is there, or none will come

  friend bool operator==(const PassProgress&, const PassProgress&) = default;
};

PassProgress progressOf(const MarkLedger& ledger);

/// The report on ranks that stand still, or nothing if none waits for another. Pure.
/// @param now, before what the ranks told in this round and in the last one
std::string describeStall(const std::vector<PassProgress>& now,
                          const std::vector<PassProgress>& before,
                          const std::vector<std::string>& names,
                          std::chrono::milliseconds period);

class StallWatch {
 public:
  /// @param comm     used by the watch alone; not yet by the other ranks' either
  /// @param period   between two rounds
  /// @param progress of this rank; called by the watch's thread
  /// @param report   receives each new report; called by the watch's thread. Empty: stderr does
  StallWatch(Communicator comm,
             std::vector<std::string> names,
             std::chrono::milliseconds period,
             std::function<PassProgress()> progress,
             std::function<void(const std::string&)> report);
  /// Ends the watch on all ranks.
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

 private:
  void serve();
  bool pause();
  std::vector<PassProgress> exchange();

  Communicator comm_;
  const std::vector<std::string> names_;
  const std::chrono::milliseconds period_;
  const std::function<PassProgress()> progress_;
  const std::function<void(const std::string&)> report_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;     // last: it uses all others
};

}  // namespace rondo::train
