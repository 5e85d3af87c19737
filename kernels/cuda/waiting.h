// Patience of a device thread that polls: it sees the abort flag, and says whom it waits for once
// that has taken long. What is wrong then is found and said by the host.
#pragma once

#include <cstdint>

#include "kernels/cuda/device.h"
#include "kernels/cuda/launch.h"

namespace rondo::device {

/// Polls between looks at the abort flag, which may lie across PCIe: such a look takes about as
/// long as all the polls between.
inline constexpr std::uint32_t kPollsPerLook = 64;

/// Looks until a wait has taken long, and is told to the host.
inline constexpr std::uint32_t kPatientLooks = 64;

/// All waits of one thread in one launch.
class Wait {
 public:
  /// @param report of the thread's lane
  RONDO_DEVICE Wait(const RankWork& work, Report& report) : work_(work), report_(report) {}

  /// For whom the next polls wait.
  RONDO_DEVICE void waitFor(std::int32_t peer, bool toReceive) {
    peer_ = toReceive ? peer + 1 : -(peer + 1);
    polls_ = 0;
  }

  /// To be called after each poll that found nothing; false: give up.
  RONDO_DEVICE bool goOn() {
    if (++polls_ % kPollsPerLook == 0) look();
    return !givenUp_;
  }

  /// goOn() by all threads of a warp that wait for the same: they go on or give up together.
  RONDO_DEVICE bool goOnAsWarp() {
    if (++polls_ % kPollsPerLook == 0) {
      look();
      givenUp_ = anyInWarp(givenUp_);
    }
    return !givenUp_;
  }

  /// Whether some wait was given up.
  RONDO_DEVICE bool givenUp() const { return givenUp_; }

 private:
  RONDO_DEVICE void look() {
    if (peekFlag(*work_.abortFlag) != 0) givenUp_ = true;
    if (polls_ == kPollsPerLook * kPatientLooks)
      tellHost(report_.waits, Report::waitOf(work_.call, peer_));
  }

  const RankWork& work_;
  Report& report_;
  std::int32_t peer_ = 0;
  std::uint32_t polls_ = 0;
  bool givenUp_ = false;
};

/// Waits until `counter` is at least `value`; false if the wait was given up.
RONDO_DEVICE bool awaitCounter(const std::uint64_t& counter, std::uint64_t value, Wait& wait) {
  while (observeCounter(counter) < value) {
    if (!wait.goOn()) return false;
  }
  return true;
}

}  // namespace rondo::device
