// Mailboxes: how ranks that all share memory pass small messages to all others at once. Each rank
// owns a ring of boxes that it alone writes and everyone reads.
//
//     Mailbox   byte 0     done     calls that the owner has finished
//               byte 64    box 0
//               ...        box kBoxes - 1
//
//     Box       byte 0     tag      of the call that it was filled for; written last
//               byte 8     payload
//
// Call k (0, 1, 2, ... of those that go through mailboxes, the same on all ranks) uses box
// k mod kBoxes of each rank. It may be filled when all ranks have finished call k - kBoxes, and is
// full once it bears the call's tag. So a message of up to 56 bytes crosses in the one cache line
// that also says that it is there, and no line is written by two ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/memory_order.h"
#include "transports/doorbell.h"

namespace rondo {

/// Most bytes in a box.
inline constexpr std::size_t kMailboxBytes = 2048;

/// All zeros is a mailbox that was never used.
struct Mailbox {
  static constexpr std::uint64_t kBoxes = 32;

  struct alignas(64) Box {
    std::uint64_t tag = 0;
    std::byte payload[kMailboxBytes] = {};
  };

  alignas(64) std::uint64_t done = 0;
  Box boxes[kBoxes];
};

static_assert(sizeof(Mailbox::Box) % 64 == 0 && offsetof(Mailbox::Box, payload) == 8);
static_assert(offsetof(Mailbox, boxes) == 64 && std::is_trivially_copyable_v<Mailbox>);

/// One rank's mailbox and the doorbell that wakes it. Not owned.
struct MailboxMemory {
  Mailbox* mailbox = nullptr;
  Doorbell* bell = nullptr;
};

/// All mailboxes as one rank uses them. @threads one at a time.
class MailboxEnds {
 public:
  /// @param memory by rank
  MailboxEnds(std::vector<MailboxMemory> memory, int own)
      : memory_(std::move(memory)), own_(static_cast<std::size_t>(own)) {}

  int own() const { return static_cast<int>(own_); }

  int ranks() const { return static_cast<int>(memory_.size()); }

  /// True if box() may be filled for the call at hand.
  bool boxFree() {
    if (call_ < doneByAll_ + Mailbox::kBoxes) return true;
    doneByAll_ = findSlowest().done;
    return call_ < doneByAll_ + Mailbox::kBoxes;
  }

  /// The rank that has finished the fewest calls; -1 if there is no other.
  int slowest() const { return findSlowest().rank; }

  /// Where this rank's message of the call goes; kMailboxBytes long. Only while boxFree().
  std::byte* box() { return boxOf(own_).payload; }

  /// Hands box() to everyone.
  /// @param tag of the call: not 0, and another one for each call
  void post(std::uint64_t tag) {
    host::postCounter(boxOf(own_).tag, tag);
    ringAll();
  }

  /// True if payload() of `rank` may be read; stays so until finish().
  bool boxFull(int rank, std::uint64_t tag) const {
    return host::observeCounter(boxOf(static_cast<std::size_t>(rank)).tag) == tag;
  }

  const std::byte* payload(int rank) const { return boxOf(static_cast<std::size_t>(rank)).payload; }

  /// This rank needs no box of the call any more; the next call begins.
  void finish() {
    host::postCounter(memory_[own_].mailbox->done, ++call_);
    ringAll();
  }

 private:
  struct Progress {
    int rank = -1;
    std::uint64_t done = ~std::uint64_t{0} / 2;  ///< no other rank: as good as all
  };

  /// Looks at each rank once: one that was looked at goes on meanwhile, and is no measure of
  /// others.
  Progress findSlowest() const {
    Progress slowest;
    for (std::size_t rank = 0; rank < memory_.size(); ++rank) {
      if (rank == own_) continue;
      const std::uint64_t done = host::observeCounter(memory_[rank].mailbox->done);
      if (done < slowest.done) slowest = {static_cast<int>(rank), done};
    }
    return slowest;
  }

  Mailbox::Box& boxOf(std::size_t rank) const {
    return memory_[rank].mailbox->boxes[call_ % Mailbox::kBoxes];
  }

  void ringAll() {
    for (std::size_t rank = 0; rank < memory_.size(); ++rank) {
      if (rank != own_) memory_[rank].bell->ring();
    }
  }

  std::vector<MailboxMemory> memory_;
  std::size_t own_;
  std::uint64_t call_ = 0;       ///< number of the call at hand
  std::uint64_t doneByAll_ = 0;  ///< as last looked up: again only when boxes run out
};

}  // namespace rondo
