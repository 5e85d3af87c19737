// Threads that play the ranks of a communicator, and the watchdog over them: a rank that does not
// come back within the deadline makes the test fail with what each rank was doing, instead of
// hanging until CTest ends it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

namespace rondo::testing {

/// What ranks may take together at most. RONDOTEST_DEADLINE_S overrules it, for slow machines.
std::chrono::seconds defaultDeadline();

class RankTeam {
 public:
  explicit RankTeam(int ranks);
  ~RankTeam();
  RankTeam(const RankTeam&) = delete;
  RankTeam& operator=(const RankTeam&) = delete;

  /// One team for the whole test program; its threads are reused by all tests.
  static RankTeam& shared();

  /// Most ranks that shared() can play.
  static constexpr int kMaxRanks = 16;

  /// Runs `body(rank)` for ranks 0 .. ranks-1, each on its thread, and waits for all.
  /// @param rescue called once if the deadline passes; must make the ranks return (abort what they
  ///   wait for). If they still do not, the process ends.
  /// @return false if the deadline passed; the failure is reported to GoogleTest.
  bool run(int ranks,
           const std::function<void(int)>& body,
           const std::function<void()>& rescue = {},
           std::chrono::seconds deadline = defaultDeadline());

  /// Says what the calling rank is doing, for the report of a deadline that passed. Other threads
  /// may call it; it does nothing there.
  static void note(std::string activity);

 private:
  struct Member {
    std::thread thread;
    std::binary_semaphore start{0};
    std::mutex mutex;
    std::string activity;  // guarded by mutex
    bool running = false;  // guarded by RankTeam::mutex_
  };

  void serve(int rank);
  bool waitForAll(std::chrono::seconds deadline);
  void reportStuck(std::chrono::seconds deadline);

  std::vector<std::unique_ptr<Member>> members_;
  std::mutex mutex_;
  std::condition_variable done_;
  int running_ = 0;                                 // guarded by mutex_
  const std::function<void(int)>* body_ = nullptr;  // valid while running
  bool stopping_ = false;
};

}  // namespace rondo::testing
