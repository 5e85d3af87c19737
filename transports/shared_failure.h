// The failure that ended a communicator, in memory that its ranks share, or in one rank's own. Any
// rank may raise it, any may look; the first one counts.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include "kernels/memory_order.h"
#include "src/status.h"

namespace rondo {

/// Plain data: `claim` decides whose failure it is; `flag` is raised once the rest is written.
struct SharedFailure {
  alignas(64) std::uint32_t flag = 0;
  alignas(64) std::uint64_t claim = 0;
  std::int32_t code = 0;
  std::array<char, 1012> text{};  ///< ends with a zero

  /// Makes `failure` the one that counts, if it is the first. On return there is one. @threads any
  void raise(const Status& failure) {
    if (failure.ok()) return;
    if (!host::claimWord(claim, 0, 1)) {
      awaitFlag();
      return;
    }
    const std::string_view message = failure.message().substr(0, text.size() - 1);
    code = static_cast<std::int32_t>(failure.code());
    std::copy(message.begin(), message.end(), text.begin());
    host::raiseFlag(flag);
  }

  /// The failure, or ok. @threads any
  Status read() {
    if (!host::flagRaised(flag)) return {};
    return {static_cast<StatusCode>(code), std::string(text.data())};
  }

  /// Waits until whoever was first has written its text. Not for ever: it may have been killed
  /// half-way.
  void awaitFlag() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{1};
    while (!host::flagRaised(flag) && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
  }
};

}  // namespace rondo
