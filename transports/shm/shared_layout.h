// What lies where in the arena that the ranks of one host share. Plain data, written in place by
// several processes; every word that more than one of them writes goes through
// kernels/memory_order.h.
//
//     0         ArenaHeader
//     ...       Doorbell      of each rank
//     ...       CallRecord    of each rank
//     ...       Mailbox       of each rank
//     ...       Inbox         of each rank
//     ...       Answers       of each rank to each rank
//     ...       directory     one word per (from, to, channel): where that connection lies
//     ...       connections   handed out in the order in which they are first needed:
//                             ConnectionControl, then the slots on the next page
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "transports/call_record.h"
#include "transports/connection.h"
#include "transports/doorbell.h"
#include "transports/mailbox.h"
#include "transports/pages.h"
#include "transports/shared_failure.h"
#include "transports/shm/memory_offers.h"

namespace rondo::shm {

inline constexpr std::uint64_t kArenaMagic = 0x616e6572616f646eULL;  // "ndoarena"
inline constexpr std::uint32_t kArenaVersion = 6;

struct ArenaHeader {
  std::uint64_t magic = kArenaMagic;
  std::uint32_t version = kArenaVersion;
  std::uint32_t ranks = 0;
  std::uint64_t slotBytes = 0;
  std::uint64_t slotCount = 0;
  alignas(64) std::uint64_t nextFree = 0;  ///< offset of memory not yet handed out
  std::uint64_t noticed = 0;               ///< HostBoard::claimNotice()
  SharedFailure failure;
};

static_assert(std::is_trivially_copyable_v<ArenaHeader>);
static_assert(sizeof(ArenaHeader) % 64 == 0);

/// A directory word is one of these, or where a connection lies plus how many slots it has: offsets
/// are whole pages, which leaves room below.
inline constexpr std::uint64_t kNotMade = 0;
inline constexpr std::uint64_t kBeingMade = 1;
inline constexpr std::uint64_t kNoMemory = 2;

static_assert(kMaxSlots < kPageBytes);

constexpr std::uint64_t offsetOf(std::uint64_t word) {
  return word / kPageBytes * kPageBytes;
}

constexpr std::uint32_t slotsOf(std::uint64_t word) {
  return static_cast<std::uint32_t>(word % kPageBytes);
}

/// Offsets of the parts for a number of ranks.
struct ArenaLayout {
  std::size_t ranks = 1;

  constexpr std::size_t bells() const { return sizeof(ArenaHeader); }

  constexpr std::size_t records() const { return bells() + ranks * sizeof(Doorbell); }

  constexpr std::size_t mailboxes() const { return records() + ranks * sizeof(CallRecord); }

  constexpr std::size_t inboxes() const { return mailboxes() + ranks * sizeof(Mailbox); }

  constexpr std::size_t answers() const { return inboxes() + ranks * sizeof(Inbox); }

  constexpr std::size_t directory() const { return answers() + ranks * ranks * sizeof(Answers); }

  constexpr std::size_t connections() const {
    return wholePages(directory() + ranks * ranks * kMaxConnections * sizeof(std::uint64_t));
  }

  /// Offset of the directory word of a connection.
  constexpr std::size_t directoryWord(int from, int to, int channel) const {
    const std::size_t pair = static_cast<std::size_t>(from) * ranks + static_cast<std::size_t>(to);
    return directory() +
           (pair * kMaxConnections + static_cast<std::size_t>(channel)) * sizeof(std::uint64_t);
  }
};

}  // namespace rondo::shm
