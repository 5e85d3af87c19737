// Moves what kernels have put into slots of host memory on over wires, and what comes over wires
// into slots that kernels poll: the progress() of the host's transports, which host ranks make
// themselves while they wait, made by a thread. It knows no algorithm. It sleeps while nothing is
// launched, and backs off to short naps while nothing moves.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "src/net/deadline.h"
#include "src/status.h"
#include "transports/rank_group.h"

namespace rondo::cuda {

/// Of one rank.
class Pump {
 public:
  /// @param working whether something launched may still need it; called by the pump's thread
  Pump(int rank, std::shared_ptr<RankGroup> group, std::function<bool()> working);
  ~Pump();
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;
  Pump(Pump&&) = delete;
  Pump& operator=(Pump&&) = delete;

  /// Starts the thread, unless it runs.
  /// @errors SystemError
  Status start();

  /// Something was launched. @threads any
  void wake();

  /// Waits until all that has been put into slots by now is handed to the transports.
  /// @return false if `deadline` passed before
  /// @threads any but the pump's
  bool flush(Deadline deadline);

  /// Ends the thread.
  void stop();

  /// Keeps the pump away from the transports, which serve one thread at a time, as long as it
  /// lives. One at a time per thread. @threads any
  class Halt {
   public:
    explicit Halt(Pump& pump);
    ~Halt();
    Halt(const Halt&) = delete;
    Halt& operator=(const Halt&) = delete;
    Halt(Halt&&) = delete;
    Halt& operator=(Halt&&) = delete;

   private:
    Pump& pump_;
  };

 private:
  void run();

  host::WaitPlace& place_;
  std::shared_ptr<RankGroup> group_;  // whose place it is
  std::function<bool()> working_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int halts_ = 0;        // wanted
  bool halted_ = false;  // somebody has the transports for himself
  bool moving_ = false;
  bool woken_ = false;
  bool ending_ = false;
  std::uint64_t looks_ = 0;        // begun
  std::uint64_t flushedLook_ = 0;  // the last one that left nothing to be handed over
  std::thread thread_;
};

}  // namespace rondo::cuda
