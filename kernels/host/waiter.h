// How a host thread waits for its peers: it polls for a moment, then gives its processor away, then
// sleeps until a peer rings; it looks at the abort flag all the time and at the clock only once it
// has waited beyond polling.
#pragma once

#include <chrono>
#include <cstdint>

#include "kernels/host/wait_place.h"

namespace rondo::host {

enum class WaitResult : std::uint8_t {
  kContinue,    ///< look again
  kAborted,     ///< the abort flag is up
  kCheckPeers,  ///< time to look whether the peers are all right; then go on
};

/// How long to poll and to yield. Ranks that share processors must not poll: the one they wait for
/// may be the one that needs the processor.
struct WaitPolicy {
  /// Polls before the processor is given away. 1000 polls are about 20 us on a 2.45 GHz Zen 3
  /// (pause and two loads); a higher value wastes the processor of a rank that waits long.
  int spinPolls = 1000;
  /// Yields before sleeping. A yield costs about 1 us when nobody else wants the processor, and
  /// falling asleep and being woken some 10 us more.
  int yields = 1000;
  /// The longest sleep: what a failure, or a doorbell that cannot be rung, may go unnoticed.
  std::chrono::microseconds longestSleep{10000};
  /// A wait is interrupted to check the peers once it has lasted `firstCheck`, then every
  /// `checkEvery`.
  std::chrono::microseconds firstCheck{1000};
  std::chrono::microseconds checkEvery{10000};
};

/// One operation's waiting. @threads one.
class Waiter {
 public:
  using Clock = std::chrono::steady_clock;

  /// @param abortFlag raised to end all waits; must outlive the waiter
  /// @param place     where it sleeps, and moves data meanwhile; must outlive the waiter
  Waiter(const WaitPolicy& policy, std::uint32_t& abortFlag, WaitPlace& place)
      : policy_(policy), abortFlag_(&abortFlag), place_(&place) {}

  ~Waiter() { stayAwake(); }

  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  WaitPlace& place() const { return *place_; }

  /// Something moved: the next wait starts afresh.
  void progressed() {
    rounds_ = 0;
    stayAwake();
  }

  /// Nothing moved: passes a moment. Falling asleep takes two calls, the first of which announces
  /// it, so that the caller looks once more in between.
  WaitResult pause();

  /// How long nothing has moved; zero while still polling.
  std::chrono::milliseconds waited() const;

 private:
  WaitResult giveWay();
  void sleepOrPrepare(Clock::time_point now);

  void stayAwake() {
    if (!announced_) return;
    announced_ = false;
    place_->stayAwake();
  }

  WaitPolicy policy_;
  std::uint32_t* abortFlag_;
  WaitPlace* place_;
  bool announced_ = false;  // whether the next pause sleeps
  std::int64_t rounds_ = 0;
  Clock::time_point since_;  // these two are valid once rounds_ exceeds the polls
  Clock::time_point nextCheck_;
};

}  // namespace rondo::host
