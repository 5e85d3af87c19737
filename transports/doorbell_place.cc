#include "transports/doorbell_place.h"

#include <algorithm>

namespace rondo {

namespace {

/// The longest sleep that may have missed what should end it.
constexpr std::chrono::microseconds kUnfencedSleep{1000};

bool joinedProcessFences() {
  static const bool kJoined = host::joinProcessFences();
  return kJoined;
}

}  // namespace

DoorbellPlace::DoorbellPlace(Doorbell& bell) : bell_(&bell), fenced_(joinedProcessFences()) {}

void DoorbellPlace::sleep(std::chrono::microseconds atMost) {
  host::futexWait(bell_->asleep, 1, fenced_ ? atMost : std::min(atMost, kUnfencedSleep));
  stayAwake();
}

}  // namespace rondo
