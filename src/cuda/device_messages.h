// A group of messages that was launched on a device, until it is complete: what it waits for, and
// what is wrong with it. What DeviceJudge is to collectives; here not all ranks take part.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/host/message_lane.h"
#include "src/config.h"
#include "src/cuda/message_tables.h"
#include "src/cuda/pump.h"
#include "src/message_list.h"
#include "transports/rank_group.h"

namespace rondo::cuda {

/// @threads one at a time, but for failed()
class DeviceMessages {
 public:
  /// @param tables what its kernel reads; given back when this object ends
  /// @param number of the launch, as device::RankWork::call; never the same in a communicator
  DeviceMessages(MessageList list, MessageTables& tables, std::uint64_t number)
      : list_(std::move(list)), tables_(tables), number_(number) {}

  ~DeviceMessages() { tables_.used.store(false, std::memory_order_release); }

  DeviceMessages(const DeviceMessages&) = delete;
  DeviceMessages& operator=(const DeviceMessages&) = delete;
  DeviceMessages(DeviceMessages&&) = delete;
  DeviceMessages& operator=(DeviceMessages&&) = delete;

  const MessageList& list() const { return list_; }

  const MessageTables& tables() const { return tables_; }

  std::uint64_t number() const { return number_; }

  /// For what its lanes say that they wait; nothing of those that have not waited long.
  std::vector<host::MessageLane::Wait> waits() const;

  /// Whether its kernel has ended before the messages were complete. @threads any
  bool failed() const;

  /// A message whose two ends differ, if its kernel has found one. @threads any
  std::optional<host::MessageLane::Wait> mismatch() const;

 private:
  MessageList list_;
  MessageTables& tables_;
  std::uint64_t number_;
};

/// What becomes of messages on a device that take long.
/// @threads the one that watches
class MessageJudge {
 public:
  /// How long a group has waited so far, and what was said of it.
  struct JudgedWait {
    /// The first peer that was seen to be in that state, among those that are waited for.
    struct Suspect {
      int peer = -1;
      std::chrono::steady_clock::time_point seen{};
    };

    std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
    bool warned = false;
    /// When the peers were asked last how far they are.
    std::chrono::steady_clock::time_point asked{};
    Suspect gone{};
    Suspect refusing{};
  };

  /// @param pump that of the rank; must outlive this object
  MessageJudge(int rank, std::shared_ptr<RankGroup> group, Pump& pump, const Config& config);

  /// Ok while `messages` may still end well. Logs a warning at its time.
  /// @errors PeerLost, Timeout, Mismatch (an end that was refused), the communicator's failure.
  Status judge(JudgedWait& judged, const DeviceMessages& messages) const;

 private:
  Status judgePeer(JudgedWait& judged,
                   const MessageList& list,
                   const host::MessageLane::Wait& wait) const;
  std::string whyLost(int peer) const;

  int rank_;
  std::shared_ptr<RankGroup> group_;  // that of the communicator
  Pump& pump_;
  const Config& config_;
};

}  // namespace rondo::cuda
