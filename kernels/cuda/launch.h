// What the host hands to a kernel: plain data that both compilers lay out alike. What belongs to a
// connection or a prepared operation lies in device memory and lives as long as that; what changes
// from call to call travels in the kernel's arguments. Counters are in device memory and never in
// arguments, so a captured launch that is replayed goes on where the last launch ended.
//
//     LaunchArgs --- ranks[r] (RankWork) --- lanes[c] (Lane) --- send[e], recv[e] (End)
//
// Block r * channels + c of the launch runs lane c of its r-th rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "collectives/registry.h"
#include "collectives/schedule.h"
#include "kernels/arithmetic.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/protocol.h"
#include "kernels/cuda/slot_layout.h"
#include "kernels/data_type.h"
#include "transports/slot_entry.h"

namespace rondo::device {

/// Most peers that one step receives from, and most that it sends to.
inline constexpr int kMaxStepPeers = 128;

/// Threads of a block on a GPU: enough to keep one processor's loads in flight, few enough that
/// each has the registers it wants.
inline constexpr int kBlockThreads = 512;

/// Most ranks that one launch runs: those of one process on one device.
inline constexpr int kMaxLaunchRanks = 8;

/// One end of a connection, as kernels of its rank see it. Each pointer may lead to this GPU's
/// memory, a peer's or the host's.
struct End {
  std::uint64_t* tail = nullptr;  ///< slots filled so far; the sender writes
  std::uint64_t* head = nullptr;  ///< slots released so far; the receiver writes
  SlotEntry* entries = nullptr;   ///< one per slot; the sender writes
  std::byte* slots = nullptr;     ///< `slotCount` of `slotBytes` each; aligned to 16 bytes
  Pack* lines = nullptr;          ///< as many, of linesPerSlot() each; aligned to 128 bytes
  std::uint64_t position = 0;     ///< fillings posted, or released, by this rank; kernels write
  std::uint32_t slotBytes = 0;    ///< a multiple of 16
  std::uint32_t slotCount = 0;
  std::int32_t peer = 0;
  /// A bit for each slot whose lines hold what wide lines left (wide_lines.h). Both ends change it
  /// alike, as they fill and release slots; kernels write.
  std::uint64_t wideSlots = 0;

  RONDO_HD std::size_t slotIndex() const { return static_cast<std::size_t>(position % slotCount); }

  /// See slot_layout.h.
  RONDO_HD static constexpr std::size_t linesPerSlot(std::size_t slotBytes) {
    return device::linesPerSlot(slotBytes);
  }

  RONDO_HD bool holdsWideLines() const { return (wideSlots >> slotIndex() & 1) != 0; }

  /// Goes on to the next filling, after one in `protocol`.
  RONDO_HD void pass(Protocol protocol) {
    const std::uint64_t bit = std::uint64_t{1} << slotIndex();
    if (protocol == Protocol::kWideLines) wideSlots |= bit;
    if (protocol == Protocol::kLines) wideSlots &= ~bit;
    ++position;
  }
};

/// Why a lane failed, and what it waits for meanwhile. In memory that the host sees; one per lane,
/// written by its block only, and only when something is wrong or slow.
struct Report {
  enum State : std::uint64_t { kNoFailure, kAborted, kMismatch };

  std::uint64_t state = kNoFailure;  ///< posted after the rest, as a counter is
  std::uint64_t otherCall = 0;       ///< what `peer`'s slot carries
  std::uint64_t waits = 0;           ///< the wait that took long last, as waitOf(); 0: none yet
  std::int32_t peer = 0;             ///< whose slot belongs to another call, after kMismatch

  /// A wait in call `call` (its fingerprint). @param peer the peer's rank + 1; negative if the wait
  /// is for the peer to take data.
  RONDO_HD static constexpr std::uint64_t waitOf(std::uint64_t call, std::int32_t peer) {
    return call << 32 | static_cast<std::uint32_t>(peer);
  }

  /// The peer of a wait in call `call`, as waitOf() takes it; 0: the wait is of another call.
  RONDO_HD static constexpr std::int32_t waitingFor(std::uint64_t wait, std::uint64_t call) {
    const auto peer = static_cast<std::int32_t>(static_cast<std::uint32_t>(wait));
    return wait == waitOf(call, peer) ? peer : 0;
  }
};

/// One channel of a prepared operation on one rank.
struct Lane {
  AlgorithmId algorithm{};
  ScheduleArgs schedule;
  End* const* send = nullptr;  ///< in the order of the schedule's table
  End* const* recv = nullptr;
  std::byte* scratch = nullptr;
  Report* report = nullptr;
};

/// One rank's part of a launch.
struct RankWork {
  const Lane* lanes = nullptr;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  const std::uint32_t* abortFlag = nullptr;  ///< nonzero: give up
  std::uint64_t call = 0;                    ///< fingerprint that every received slot must carry
  std::uint64_t scale = 0;  ///< premulsum: the factor's bytes, as CombineArgs::scale
};

struct LaunchArgs {
  StepArithmetic arithmetic;
  ReduceOp op = ReduceOp::kSum;
  Protocol protocol = Protocol::kStaged;
  std::int32_t channels = 1;
  RankWork ranks[kMaxLaunchRanks];
};

static_assert(std::is_trivially_copyable_v<LaunchArgs>);
static_assert(std::is_trivially_copyable_v<Lane>);
static_assert(std::is_trivially_copyable_v<End>);
static_assert(sizeof(Report) == 32);
/// The most that every GPU and toolkit takes as arguments of a kernel.
static_assert(sizeof(LaunchArgs) <= 4096);

}  // namespace rondo::device
