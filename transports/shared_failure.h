// The failure that ended a communicator, in memory that its ranks share, or in one rank's own. Any
// rank may raise it, any may look; the first one counts.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/memory_order.h"
#include "src/status.h"

namespace rondo {

/// Plain data: `claim` decides whose failure it is; `flag` is raised once the rest is written.
struct SharedFailure {
  alignas(64) std::uint32_t flag = 0;
  alignas(64) std::uint64_t claim = 0;
  std::int32_t code = 0;
  std::array<char, 1012> text{};  ///< ends with a zero

  /// Makes `failure` the one that counts, if it is the first. @threads any
  void raise(const Status& failure) {
    if (failure.ok() || !host::claimWord(claim, 0, 1)) return;
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
};

}  // namespace rondo
