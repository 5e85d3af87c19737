// Where a rank waits whose peers all share memory with it: at its doorbell.
#pragma once

#include <chrono>

#include "kernels/host/wait_place.h"
#include "transports/doorbell.h"

namespace rondo {

/// @threads as WaitPlace: the one that runs the rank's operation, but for wake()
class DoorbellPlace final : public host::WaitPlace {
 public:
  /// @param bell the own rank's; must outlive the place
  explicit DoorbellPlace(Doorbell& bell);

  /// Posts are where they belong at once.
  bool progress() override { return false; }

  bool flushed() const override { return true; }

  void prepareSleep() override { host::announceSleep(bell_->asleep); }

  void stayAwake() override { (void)host::endSleep(bell_->asleep); }

  void wake() override { bell_->ring(); }

  /// At most 1 ms where a peer might not see the announcement in time.
  void sleep(std::chrono::microseconds atMost) override;

 private:
  Doorbell* bell_;
  bool fenced_;  // whether this process takes part in process fences
};

}  // namespace rondo
