// A transport of one's own: ranks of one host that send each other each slot as one packet of a
// Unix socket. docs/transports.md goes through it. It is as short as one can be that keeps every
// promise of transports/transport.h (tests/transport/ puts it through the tests of all transports);
// it is no good to work with: whoever is on the host may connect, so nothing proves that a peer is
// one, and what a peer says is believed.
//
//     sender -> receiver   a Hello, then one packet {SlotEntry, payload} for each slot; to leave in
//                          good order one with kGoodbye for its bytes
//     receiver -> sender   8 bytes: how many slots it has released so far
//
// A packet goes whole or not at all and comes as it was sent, so neither side has to remember how
// far it is with one. That is what a stream of bytes (transports/tcp/) takes twice as much code
// for.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <sys/uio.h>

#include "src/net/file_descriptor.h"
#include "transports/private_connection.h"
#include "transports/transport.h"

namespace rondo::example {

class PacketTransport final : public Transport {
 public:
  PacketTransport(int rank, SlotShape slots) : rank_(rank), slots_(slots) {}

  std::string_view name() const override { return "packets"; }

  bool sharesMemory() const override { return false; }

  /// Which host it is, and the name of a socket that this rank listens at.
  Result<std::string> offer() override;

  bool canReach(int peer, std::string_view offer) const override;

  Status open(const std::vector<std::string>& offers, Deadline deadline) override;

  Result<ConnectionMemory> connect(int from, int to, int channel) override;

  Result<bool> progress() override;
  bool flushed() const override;
  bool taken() const override;
  Traffic traffic(int peer) const override;
  bool drained(int peer) const override;
  std::string whyLost(int peer) const override;
  void watch(std::vector<int>& descriptors) const override;
  std::size_t memoryBytes() const override;
  void close() override;

 private:
  /// One end of a connection.
  struct Link {
    std::unique_ptr<PrivateConnection> connection;
    FileDescriptor socket;    ///< none: the peer has not connected yet, or the link has ended
    std::uint64_t moved = 0;  ///< slots sent, or credits for slots given, so far
    bool ended = false;
    std::string whyLost;  ///< if it has ended and should not have

    /// Whether both sides have asked for it, and it goes on.
    bool live() const { return connection != nullptr && socket.valid(); }

    std::uint64_t tail() const { return host::observeCounter(connection->control().tail.value); }

    std::uint64_t head() const { return host::observeCounter(connection->control().head.value); }
  };

  using Key = std::array<int, 3>;  // from, to, channel

  bool sends(const Key& key) const { return key[0] == rank_; }

  int peerOf(const Key& key) const { return sends(key) ? key[1] : key[0]; }

  void dial(Link& link, int to, int channel) const;
  bool acceptPeers();

  // One packet each; false: there is none now, or the link has ended.
  static bool sendSlot(Link& link);
  static bool takeCredit(Link& link);
  static bool takeSlot(Link& link);
  static bool giveCredit(Link& link);
  static void lose(Link& link, std::string why);
  template <class Call>
  static bool transfer(Link& link, Call call, std::span<const iovec> packet, int flags);

  const int rank_;
  const SlotShape slots_;
  FileDescriptor listener_;
  std::vector<FileDescriptor> arrivals_;  // peers that have not said hello
  std::vector<std::string> offers_;       // by rank
  mutable std::mutex mutex_;  // held to add links, and by traffic(), which any thread calls
  std::map<Key, Link> links_;
};

}  // namespace rondo::example
