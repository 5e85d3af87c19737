// How ranks that are about to form a communicator tell each other what they need to know. Where
// the ranks meet (a rendezvous, an older communicator) is up to the implementation.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/status.h"

namespace rondo {

/// An all-gather among the ranks of a communicator to be. All ranks make the same calls in the same
/// order.
/// @threads one at a time.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// Gives `payload` to all ranks and gets theirs, by rank. Returns once all ranks have called.
  /// @param payload at most kMaxExchangeBytes.
  /// @errors   Timeout (naming the ranks that have not called), PeerLost (naming the rank that is
  ///   gone), Mismatch, Aborted, SystemError. After an error the exchange is of no more use.
  virtual Result<std::vector<std::string>> allGather(std::string payload) = 0;

 protected:
  Exchange() = default;
  Exchange(const Exchange&) = default;
  Exchange& operator=(const Exchange&) = default;
};

/// The largest payload.
inline constexpr std::size_t kMaxExchangeBytes = std::size_t{16} * 1024;

}  // namespace rondo
