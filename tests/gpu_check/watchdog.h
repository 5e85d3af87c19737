// Keeps the report's file fresh, and ends the program when a section does not end: a call of the
// driver may wait for ever for a kernel that hangs, and nothing in this process can be relied on
// then.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "src/net/deadline.h"
#include "tests/gpu_check/report.h"

namespace rondo::gpucheck {

class Watchdog {
 public:
  explicit Watchdog(Report& report) : report_(report), thread_([this] { run(); }) {}

  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  Watchdog(Watchdog&&) = delete;
  Watchdog& operator=(Watchdog&&) = delete;
  ~Watchdog();

  /// From now on the program ends at `deadline`, unless it is set again before.
  void set(Deadline deadline);

 private:
  void run();

  Report& report_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Deadline deadline_;
  Deadline::Clock::time_point set_ = Deadline::Clock::now();
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace rondo::gpucheck
