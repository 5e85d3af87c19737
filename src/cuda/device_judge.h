// What becomes of a call on a device that takes long: looks at the other ranks' records, and says
// when it is an error, or worth a warning.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "kernels/host/lane.h"
#include "src/config.h"
#include "src/cuda/pump.h"
#include "src/stall.h"
#include "transports/rank_group.h"

namespace rondo::cuda {

/// Of one rank. @threads any; the calls of one JudgedWait one at a time.
class DeviceJudge {
 public:
  /// How long a call has waited so far, and what was said of it.
  struct JudgedWait {
    CallSignature call;
    std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
    bool warned = false;
    /// When the other ranks were asked last how far they are.
    std::chrono::steady_clock::time_point asked{};
    /// The first peer that was seen to be lost, and when; -1: none.
    int lost = -1;
    std::chrono::steady_clock::time_point lossSeen{};
    /// When a peer's rejection of the call was seen first.
    std::optional<std::chrono::steady_clock::time_point> rejectionSeen{};
  };

  /// @param pump that of the rank; must outlive this object
  DeviceJudge(
      int rank, int ranks, std::shared_ptr<RankGroup> group, Pump& pump, const Config& config);

  /// Ok while `wait` may still end well. Logs a warning at its time.
  /// @param blocked for whom it waits, as far as that is known
  /// @errors Mismatch, PeerLost, Timeout, the failure of the communicator.
  Status judge(JudgedWait& wait, host::Blocked blocked) const;

  /// Whether what the other ranks have made known of `call` is the same call.
  /// @errors Mismatch
  Status compareCalls(const CallSignature& call) const;

  /// The error for a slot of `peer` that carries another call.
  Status mismatch(const CallSignature& call, int peer, std::uint64_t otherCall) const;

 private:
  Waiting waiting(const CallSignature& call) const { return {rank_, call, group_->record(rank_)}; }

  Status judgePeerOf(JudgedWait& wait, int peer) const;
  Status judgeLoss(JudgedWait& wait, int peer) const;
  void askOthers(JudgedWait& wait) const;
  std::string whyLost(int peer) const;
  host::Blocked firstBehind(const CallSignature& call) const;

  int rank_;
  int ranks_;
  std::shared_ptr<RankGroup> group_;  // that of the communicator
  Pump& pump_;
  const Config& config_;
};

}  // namespace rondo::cuda
