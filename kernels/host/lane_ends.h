// The connection ends that the tables of a compressed operation's schedule name, and what happens
// to them in a step. Payloads are codes, which lie in slots, never elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "collectives/step.h"
#include "kernels/host/lane.h"
#include "kernels/step_ready.h"
#include "transports/connection.h"

namespace rondo::host {

/// @threads one at a time.
class LaneEnds {
 public:
  /// Ends in the order of the schedule's tables; not owned.
  LaneEnds(std::vector<SendEnd*> send, std::vector<RecvEnd*> recv)
      : send_(std::move(send)), recv_(std::move(recv)) {}

  std::size_t sendCount() const { return send_.size(); }

  std::size_t recvCount() const { return recv_.size(); }

  /// What kernels/step_ready.h asks of the connections.
  bool sendSlotFree(int entry) { return send_[static_cast<std::size_t>(entry)]->slotFree(); }

  bool recvSlotFull(int entry) { return recv_[static_cast<std::size_t>(entry)]->slotFull(); }

  /// The step's ends, by their number in its ranges.
  SendEnd& send(const Step& step, int index) {
    return *send_[static_cast<std::size_t>(step.send.first + index)];
  }

  RecvEnd& recv(const Step& step, int index) {
    return *recv_[static_cast<std::size_t>(step.recv.first + index)];
  }

  bool ready(const Step& step) { return stepReady(step, *this); }

  /// Whether every slot that the step receives is of this call and as long as it should be.
  /// Precondition: ready(step).
  bool match(const Step& step, const SlotEntry& expected) {
    for (int i = 0; i < step.recv.count; ++i) {
      if (!matches(recv(step, i), expected)) return false;
    }
    return true;
  }

  /// The peer that keeps the step from running; nobody if it could.
  Blocked blockedOn(const Step& step, const SlotEntry& expected) {
    for (int i = 0; i < step.recv.count; ++i) {
      RecvEnd& end = recv(step, i);
      if (!end.slotFull()) return {end.peer(), true};
      if (!matches(end, expected)) return {end.peer(), true, end.entry().call};
    }
    for (int i = 0; i < step.send.count; ++i) {
      if (!send(step, i).slotFree()) return {send(step, i).peer(), false};
    }
    return {};
  }

  /// Posts what the step has filled and releases what it has read.
  void pass(const Step& step, const SlotEntry& sent) {
    for (int i = 0; i < step.send.count; ++i)
      send(step, i).post(sent);
    for (int i = 0; i < step.recv.count; ++i)
      recv(step, i).release();
  }

 private:
  static bool matches(const RecvEnd& end, const SlotEntry& expected) {
    return end.entry().call == expected.call && end.entry().payloadBytes() == expected.bytes;
  }

  std::vector<SendEnd*> send_;
  std::vector<RecvEnd*> recv_;
};

}  // namespace rondo::host
