// Where threads that belong together wait for each other, without hanging when one does not come.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "src/status.h"

namespace rondo::cuda {

/// Used again and again by the same threads.
/// @threads one call per member at a time
class Meeting {
 public:
  explicit Meeting(int members) : members_(members) {}

  /// Returns once all members have called. The one that comes last carries out `last` first, and
  /// all get what it gives.
  /// @param check called every 10 ms while this member waits; a failure ends its wait, and is what
  ///   it gets, and all who come later. The round that has ended meanwhile counts more.
  Status meet(const std::function<Status()>& last, const std::function<Status()>& check) {
    std::unique_lock lock(mutex_);
    if (!broken_.ok()) return broken_;
    const std::uint64_t round = round_;
    if (++arrived_ == members_) {
      result_ = last();
      arrived_ = 0;
      ++round_;
      everybody_.notify_all();
      return result_;
    }
    const auto over = [&] { return round_ != round || !broken_.ok(); };
    while (!everybody_.wait_for(lock, std::chrono::milliseconds{10}, over)) {
      lock.unlock();
      const Status checked = check();
      lock.lock();
      if (round_ != round || checked.ok()) continue;
      broken_ = checked;
      everybody_.notify_all();
      return broken_;
    }
    return round_ != round ? result_ : broken_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable everybody_;
  int members_;
  int arrived_ = 0;
  std::uint64_t round_ = 0;
  Status result_;  // of the last round
  Status broken_;  // why somebody waits no more
};

}  // namespace rondo::cuda
