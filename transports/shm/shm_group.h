// An arena as the ranks of one host share it: their board and their connections. Either end of a
// connection makes it in the arena when it first needs it; the other end finds it there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/net/file_descriptor.h"
#include "transports/doorbell_place.h"
#include "transports/host_board.h"
#include "transports/shm/arena.h"
#include "transports/shm/memory_offers.h"
#include "transports/shm/shared_layout.h"
#include "transports/slot_account.h"

namespace rondo::shm {

class ShmGroup final : public HostBoard {
 public:
  /// Makes the arena of `ranks` ranks and prepares it for use.
  /// @param slotBytes   bytes of each slot, a multiple of 64
  /// @param slotCount   slots per connection, 1..kMaxSlots
  /// @errors OutOfMemory, SystemError
  /// @param limit       bytes that one rank's process may have for slots, so that the arena has
  /// room
  ///   for them; 0: no limit
  static Result<Arena> makeArena(int ranks,
                                 std::size_t slotBytes,
                                 std::uint32_t slotCount,
                                 std::size_t limit = 0);

  /// A rank that shares the arena.
  struct Member {
    int rank = 0;       ///< in the communicator
    pid_t process = 0;  ///< for noticing its death
  };

  /// Joins the ranks that share `arena`.
  /// @param members the same on all of them, in the same order
  /// @param own     which of them this is, as a place in `members`
  /// @param account pays for the connections that this rank makes
  /// @errors SystemError (the arena is not one of so many ranks made by this version)
  static Result<std::unique_ptr<ShmGroup>> join(Arena arena,
                                                std::span<const Member> members,
                                                std::size_t own,
                                                SlotAccount account = SlotAccount());

  /// The connection from rank `from` to rank `to` on `channel`, both of them members. Both ends get
  /// the same memory, which lives as long as this object.
  /// @errors OutOfMemory, at both ends; PeerLost, naming the rank that ended while it made it;
  ///   Timeout
  Result<ConnectionMemory> connection(int from, int to, int channel);

  /// Bytes of the arena that connections have been given.
  std::size_t usedBytes() const;

  CallRecord& record(int rank) override;
  std::optional<MailboxMemory> mailbox(int rank) override;
  std::string whyLost(int rank) const override;
  void fail(const Status& failure) override;

  SharedFailure& failure() override { return header().failure; }

  bool claimNotice() override { return host::claimWord(header().noticed, 0, 1); }

  host::WaitPlace& waitPlace() override { return place_; }

  void lookAround() override { offers_.look(); }

  /// Bytes of shared memory mapped here in huge pages, for telling whether they came.
  std::size_t hugePageBytes() const { return arena_.hugePageBytes(); }

 private:
  /// How a member's process is watched.
  struct Process {
    pid_t id = 0;
    FileDescriptor
        handle;  ///< a pidfd; invalid if the process was gone already or none was to be had
  };

  ShmGroup(Arena arena,
           std::vector<Process> processes,
           std::map<int, std::size_t> places,
           int ownRank,
           SlotAccount account);

  /// The place of a rank among the members.
  std::size_t placeOf(int rank) const { return places_.at(rank); }

  ArenaHeader& header() const { return *at<ArenaHeader>(0); }

  ArenaLayout layout() const { return {header().ranks}; }

  Doorbell& bell(std::size_t place) const {
    return *at<Doorbell>(layout().bells() + place * sizeof(Doorbell));
  }

  MemoryOffers::Places offerPlaces() const;
  /// @return what the connection's directory word is to be.
  Result<std::uint64_t> makeConnection();
  /// Reserves memory for a connection at `offset`.
  Status reserveConnection(std::uint64_t offset, SlotShape slots);
  /// Waits for rank `peer` to make it.
  Status awaitConnection(std::uint64_t& word, int peer) const;

  /// The object at `offset` of the arena, which was put there when the arena was made or, for
  /// doorbells and connections, is all zeros from the start.
  template <class T>
  T* at(std::size_t offset) const {
    return reinterpret_cast<T*>(arena_.data() + offset);
  }

  mutable Arena arena_;
  std::vector<Process> processes_;     // by place
  std::map<int, std::size_t> places_;  // by rank
  int ownRank_;
  SlotAccount account_;
  DoorbellPlace place_;
  MemoryOffers offers_;
};

}  // namespace rondo::shm
