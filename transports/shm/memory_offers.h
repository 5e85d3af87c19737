// How ranks of one host come to read each other's buffers: memory of rondoMemAlloc is a file, whose
// descriptor its rank sends to the ranks that it sends slots to. From then on payloads in it stay
// where they are.
//
//     sender                               arena                       receiver
//     first payload in a block  ----->     datagram with the file  ->  maps it
//     (copied into its slot)               answers[drawer] = block <-  and says so
//     later payloads in it                 place {drawer, offset}  ->  reads them there
//
// A pair of ranks has kDrawers drawers, one for each block. A drawer gets another block once its
// own was freed; until then blocks without one are copied.
//
// The datagrams go to a socket whose name, and the number that each must bear, are random and known
// to those that have mapped the arena, which were authenticated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "src/net/file_descriptor.h"
#include "src/status.h"
#include "transports/memory_names.h"
#include "transports/shm/arena.h"

namespace rondo::shm {

/// Blocks of one rank that another one has mapped at a time.
inline constexpr std::size_t kDrawers = 16;

/// Where offers for one rank go; in the arena. All zeros at first.
struct Inbox {
  alignas(64) std::uint64_t sent = 0;  ///< datagrams, by all ranks
  alignas(64) std::uint64_t open = 0;  ///< 1: the rest is there
  std::uint64_t token = 0;
  char name[40] = {};
};

/// What one rank says to another of its offers; in the arena. All zeros at first.
struct alignas(64) Answers {
  /// By drawer: the block that is mapped; with kRefused, one that could not be.
  std::uint64_t blocks[kDrawers] = {};

  static constexpr std::uint64_t kRefused = std::uint64_t{1} << 63;
};

/// One rank's offers to the others of its host, and theirs to it. @threads one at a time, but for
/// names().
class MemoryOffers {
 public:
  /// Where things are in the arena, by place of the ranks.
  struct Places {
    std::size_t own = 0;
    std::vector<Inbox*> inboxes;
    std::vector<Answers*> toOwn;    ///< what the rank at a place says to this one
    std::vector<Answers*> fromOwn;  ///< what this rank says to it
  };

  /// Opens this rank's inbox. Where that fails nobody offers it anything, and it copies.
  explicit MemoryOffers(Places places);
  ~MemoryOffers();
  MemoryOffers(const MemoryOffers&) = delete;
  MemoryOffers& operator=(const MemoryOffers&) = delete;

  /// For connections with the rank at `place` on `channel`, in both directions. What it returns may
  /// be used while other threads use those of other channels, and while look() runs.
  MemoryNames& names(std::size_t place, int channel);

  /// Takes what has been offered to this rank, if anything was. A load if not.
  void look();

 private:
  class Names;
  class Peer;

  Status openInbox();
  bool takeOffer();

  Places places_;
  FileDescriptor socket_;
  std::uint64_t seen_ = 0;  ///< Inbox::sent, when this rank looked last
  std::vector<std::unique_ptr<Peer>> peers_;
};

}  // namespace rondo::shm
