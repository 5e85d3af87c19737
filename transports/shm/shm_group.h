// The shm transport: ranks are processes of one host and share an arena that one of them made.
// Either end of a connection makes it in the arena when it first needs it; the other end finds it
// there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/net/file_descriptor.h"
#include "transports/doorbell_place.h"
#include "transports/rank_group.h"
#include "transports/shm/arena.h"
#include "transports/shm/shared_layout.h"

namespace rondo::shm {

class ShmGroup final : public RankGroup {
 public:
  /// Makes the arena of `ranks` ranks and prepares it for use.
  /// @param slotBytes   bytes of each slot, a multiple of 64
  /// @param slotCount   slots per connection, 1..kMaxSlots
  /// @errors OutOfMemory, SystemError
  static Result<Arena> makeArena(int ranks, std::size_t slotBytes, std::uint32_t slotCount);

  /// Joins the ranks that share `arena`.
  /// @param processes the process of each rank, for noticing its death
  /// @errors SystemError (the arena is not one of `ranks` ranks made by this version)
  static Result<std::unique_ptr<ShmGroup>> join(Arena arena, std::span<const pid_t> processes);

  Result<ConnectionMemory> connection(int from, int to, int channel) override;
  CallRecord& record(int rank) override;

  host::WaitPlace& waitPlace(int rank) override { return places_[static_cast<std::size_t>(rank)]; }

  bool hasDied(int rank) const override;
  void fail(const Status& failure) override;

  std::uint32_t& failedFlag() override { return header().failure.flag; }

  Status failure() const override;

  /// Bytes of shared memory mapped here in huge pages, for telling whether they came.
  std::size_t hugePageBytes() const { return arena_.hugePageBytes(); }

 private:
  /// How a rank's process is watched.
  struct Process {
    pid_t id = 0;
    FileDescriptor
        handle;  ///< a pidfd; invalid if the process was gone already or none was to be had
  };

  ShmGroup(Arena arena, std::vector<Process> processes);

  ArenaHeader& header() const { return *at<ArenaHeader>(0); }

  ArenaLayout layout() const { return {header().ranks}; }

  Doorbell& bell(int rank) const {
    return *at<Doorbell>(layout().bells() + static_cast<std::size_t>(rank) * sizeof(Doorbell));
  }

  /// Reserves memory for a connection of `slots` slots at `offset`.
  Status reserveConnection(std::uint64_t offset, std::uint64_t slots);
  Status makeConnection(std::uint64_t& word);
  Status awaitConnection(std::uint64_t& word) const;

  /// The object at `offset` of the arena, which was put there when the arena was made or, for
  /// doorbells and connections, is all zeros from the start.
  template <class T>
  T* at(std::size_t offset) const {
    return reinterpret_cast<T*>(arena_.data() + offset);
  }

  mutable Arena arena_;
  std::vector<Process> processes_;     // by rank
  std::vector<DoorbellPlace> places_;  // by rank; each process uses its own
};

}  // namespace rondo::shm
