// Where the tables of groups of messages lie while a kernel runs them: a few places in memory of
// the device that are used again and again, so that a group allocates nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "kernels/cuda/message_launch.h"
#include "src/cuda/device.h"
#include "src/cuda/device_operation.h"
#include "src/message_list.h"
#include "src/status.h"

namespace rondo::cuda {

/// One place, and what a launch has put there.
struct MessageTables {
  Memory tables;
  Memory reports;  ///< kMessageLanes of device::Report, on the host
  int lanes = 0;
  std::atomic<bool> used = false;  ///< from its launch until that is complete

  const device::MessageLane* lanesOnDevice() const {
    return tables.onDevice<const device::MessageLane>();
  }
};

/// @threads one at a time
class MessageTablePool {
 public:
  explicit MessageTablePool(std::shared_ptr<const Device> device) : device_(std::move(device)) {}

  /// Allocates, unless that was done before.
  /// @errors OutOfMemory, SystemError
  Status prepare();

  /// Whether a launch would find a place that holds `bytes` bytes.
  MessageTables* find(std::size_t bytes);

  /// Makes room for `bytes` bytes in a place, of which none may be used.
  /// @errors OutOfMemory, SystemError
  Result<MessageTables*> grow(std::size_t bytes);

  /// See Memory::leaveBehind().
  void leaveBehind();

 private:
  std::shared_ptr<const Device> device_;
  std::vector<std::unique_ptr<MessageTables>> places_;
};

/// The tables of a group as bytes, with every pointer as it is when they lie at an address.
class PackedMessages {
 public:
  /// @param slotBytes of all connections
  /// @errors those of DeviceEnds::find()
  static Result<PackedMessages> make(const MessageList& list,
                                     int ranks,
                                     std::size_t slotBytes,
                                     DeviceEnds& ends);

  /// Lanes that have something to do; at least 1.
  int lanes() const { return static_cast<int>(lanes_.size()); }

  std::size_t bytes() const;

  /// Puts them into `tables`, for its reports.
  /// @errors SystemError
  Status store(const Device& device, MessageTables& tables);

 private:
  struct Lane {
    std::vector<MessageRound> rounds;
    std::vector<RoundMessage> sends;
    std::vector<RoundMessage> recvs;
    std::vector<device::OwnMessage> own;
    std::vector<device::End*> sendEnds;  // by round
    std::vector<device::End*> recvEnds;
  };

  std::size_t pieceBytes_ = 1;
  std::vector<device::Message> messages_;
  std::vector<Lane> lanes_;
};

}  // namespace rondo::cuda
