// How ranks that are about to form a communicator tell each other what they need to know. Where
// the ranks meet (a rendezvous, an older communicator) is up to the implementation.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
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

/// The same among the ranks of a communicator that exists, for blocks that are equally long.
/// @param all receives the blocks of all ranks, by rank, each as long as `own`
using GatherBytes = std::function<Status(std::span<const std::byte> own, std::span<std::byte> all)>;

/// What ranks that are about to form a communicator can do before they have one.
/// @param exchange must outlive what is returned
/// @errors of a call: those of `exchange`, Mismatch (blocks of other lengths)
GatherBytes gatherBy(Exchange& exchange);

/// The largest payload.
inline constexpr std::size_t kMaxExchangeBytes = std::size_t{16} * 1024;

}  // namespace rondo
