// The ranks of a test of transports: all in this process, opened by each other's offers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/net/deadline.h"
#include "tests/transport/transport_body.h"

namespace rondo::testing {

/// Long for anything that succeeds.
inline constexpr std::chrono::milliseconds kTransportPatience{20000};

class TransportTeam {
 public:
  /// Makes the transports, exchanges their offers and opens them, each in a thread of its own.
  /// Fails the test if that fails.
  TransportTeam(const TransportKind& kind, int ranks, SlotShape slots, int job = 1);

  int ranks() const { return static_cast<int>(members_.size()); }

  Transport& operator[](int rank) { return members_[static_cast<std::size_t>(rank)]->transport(); }

  /// Ends `rank` as the end of its process would.
  void end(int rank) { members_[static_cast<std::size_t>(rank)].reset(); }

  /// Lets all ranks that are left make progress until `done`.
  /// @return false if that takes too long; the test has then failed.
  bool progressUntil(const std::function<bool()>& done);

 private:
  void open(const std::vector<std::string>& offers);

  std::vector<std::unique_ptr<TransportRank>> members_;  // by rank; null: has ended
};

/// Slots of random lengths from one rank to another, and what must come of them. Both ends know by
/// the place and the number of a filling what it holds.
struct StreamPlace {
  int from = 0;
  int to = 0;
  int channel = 0;

  /// What filling `number` says: bytes of payload, at most `slotBytes`, and call.
  SlotEntry entryOf(std::uint64_t number, std::size_t slotBytes) const;

  /// Its payload.
  void write(std::uint64_t number, std::span<std::byte> payload) const;

 private:
  std::uint64_t seedOf(std::uint64_t number) const;
};

/// Sends one stream.
class SendStream {
 public:
  SendStream(StreamPlace place, const ConnectionMemory& memory)
      : place_(place), end_(memory, place.to) {}

  /// Fills a slot if one is free.
  bool step();

  std::uint64_t posted() const { return posted_; }

 private:
  StreamPlace place_;
  SendEnd end_;
  std::uint64_t posted_ = 0;
};

/// Receives one stream; what is wrong with it fails the test.
class RecvStream {
 public:
  RecvStream(StreamPlace place, const ConnectionMemory& memory)
      : place_(place), end_(memory, place.from), slotBytes_(memory.slotBytes) {}

  /// Checks and releases a slot if one is full.
  bool step();

  /// Whether a slot is full.
  bool full() { return end_.slotFull(); }

  std::uint64_t released() const { return released_; }

 private:
  StreamPlace place_;
  RecvEnd end_;
  std::size_t slotBytes_;
  std::uint64_t released_ = 0;
};

/// Which streams every pair of ranks has, in both directions.
struct Exchanges {
  int channels = 1;
  std::uint64_t fillings = 0;  ///< of each stream
};

/// Runs the streams of all ranks of `team`, each rank in a thread of its own with pauses at random,
/// until all is received and known to be.
void runExchanges(TransportTeam& team, const Exchanges& exchanges);

}  // namespace rondo::testing
