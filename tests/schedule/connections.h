// The connections between ranks, as the verifier models them: a ring of slots, how many were posted
// and how many released. They outlive calls, as the real ones do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "collectives/step.h"
#include "tests/schedule/symbolic_value.h"

namespace rondo::verifier {

struct RankState;

/// What a step puts into the slots it sends; all of them share it.
struct Payload {
  std::vector<Value> values;
  Wire wire = Wire::kNative;
  std::size_t call = 0;
  RankSet arrived;                 ///< ranks known to have begun the call
  std::uint16_t waves = 0;         ///< connections on the longest chain of steps that led here
  int uses = 0;                    ///< slots that hold it
  Source lasting = Source::kNone;  ///< the sender's buffer that it was left in; kNone: it is copied
  std::size_t offset = 0;          ///< there
  const RankState* sender = nullptr;
};

/// Keeps payloads for reuse.
class PayloadPool {
 public:
  /// A payload without uses and values.
  Payload* take() {
    if (free_.empty()) {
      all_.emplace_back();
      free_.push_back(&all_.back());
    }
    Payload* payload = free_.back();
    free_.pop_back();
    payload->values.clear();
    payload->uses = 0;
    return payload;
  }

  /// Gives up one use of `payload`, which may be null.
  void drop(Payload* payload) {
    if (payload != nullptr && --payload->uses == 0) free_.push_back(payload);
  }

  /// Returns a payload that no slot holds.
  void giveBack(Payload* payload) { free_.push_back(payload); }

 private:
  std::deque<Payload> all_;  // a deque, so that payloads stay where they are
  std::vector<Payload*> free_;
};

/// One direction between two ranks.
class Connection {
 public:
  bool slotFull() const { return released_ < posted_; }

  bool slotFree(std::size_t slots) const { return posted_ - released_ < slots; }

  std::uint64_t posted() const { return posted_; }

  std::uint64_t released() const { return released_; }

  std::uint64_t leftover() const { return posted_ - released_; }

  /// The payload of the slot posted as number `sequence`; null when it is not there, because it was
  /// not written yet or was written over.
  const Payload* payload(std::uint64_t sequence) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[sequence % slots_.size()];
    return slot.sequence == sequence ? slot.payload : nullptr;
  }

  /// True if a later slot was written into the place of number `sequence`.
  bool overwritten(std::uint64_t sequence) const {
    if (slots_.empty()) return false;
    const std::uint64_t found = slots_[sequence % slots_.size()].sequence;
    return found != kNever && found > sequence;
  }

  /// Makes the next slot visible to the receiver; returns its number.
  std::uint64_t post() { return posted_++; }

  /// Writes slot number `sequence`.
  void write(std::uint64_t sequence, Payload* payload, std::size_t slots, PayloadPool& pool) {
    slots_.resize(slots);
    Slot& slot = slots_[sequence % slots];
    if (slot.sequence != kNever) pool.drop(slot.payload);
    slot = {sequence, payload};
    ++payload->uses;
  }

  /// Gives the oldest full slot back to the sender. Its content stays until it is written over.
  void release() { ++released_; }

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  struct Slot {
    std::uint64_t sequence = kNever;
    Payload* payload = nullptr;
  };

  std::vector<Slot> slots_;
  std::uint64_t posted_ = 0;
  std::uint64_t released_ = 0;
};

/// All connections of a communicator.
class Connections {
 public:
  Connections(int ranks, std::size_t slots)
      : ranks_(static_cast<std::size_t>(ranks)), slots_(slots), all_(ranks_ * ranks_) {}

  Connection& between(int from, int to) {
    return all_[static_cast<std::size_t>(from) * ranks_ + static_cast<std::size_t>(to)];
  }

  std::size_t slots() const { return slots_; }

  PayloadPool& pool() { return pool_; }

 private:
  std::size_t ranks_;
  std::size_t slots_;
  std::vector<Connection> all_;
  PayloadPool pool_;
};

}  // namespace rondo::verifier
