#include "tests/transport/transport_team.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>

namespace rondo::testing {

namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): neighbouring inputs give unrelated outputs.
std::uint64_t scramble(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

/// One rank's part in runExchanges().
class ExchangingRank {
 public:
  ExchangingRank(TransportTeam& team, int rank, const Exchanges& exchanges)
      : transport_(team[rank]), fillings_(exchanges.fillings), random_(rank + 1U) {
    for (int peer = 0; peer < team.ranks(); ++peer)
      for (int channel = 0; peer != rank && channel < exchanges.channels; ++channel)
        connect(rank, peer, channel);
  }

  /// Goes on until no rank is `busy`; then this one was the last to need another.
  void run(std::atomic<int>& busy) {
    const Deadline deadline = Deadline::within(kTransportPatience);
    bool counted = false;
    while (busy > 0) {
      if (!turn()) std::this_thread::yield();
      if (!counted && finished()) {
        counted = true;
        --busy;
      }
      if (::testing::Test::HasFailure()) return;
      if (!deadline.passed()) continue;
      ADD_FAILURE() << describe();
      return;
    }
  }

 private:
  void connect(int rank, int peer, int channel) {
    const StreamPlace out{rank, peer, channel};
    const StreamPlace in{peer, rank, channel};
    const Result<ConnectionMemory> sending = transport_.connect(rank, peer, channel);
    const Result<ConnectionMemory> receiving = transport_.connect(peer, rank, channel);
    ASSERT_TRUE(sending.ok()) << sending.status().message();
    ASSERT_TRUE(receiving.ok()) << receiving.status().message();
    sends_.emplace_back(out, *sending);
    recvs_.emplace_back(in, *receiving);
  }

  bool turn() {
    if (random_() % 200 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(random_() % 500));
    }
    bool moved = false;
    for (SendStream& stream : sends_)
      moved |= stream.posted() < fillings_ && random_() % 4 != 0 && stream.step();
    for (RecvStream& stream : recvs_)
      moved |= random_() % 4 != 0 && stream.step();
    const Result<bool> progressed = transport_.progress();
    EXPECT_TRUE(progressed.ok()) << progressed.status().message();
    return moved || (progressed.ok() && *progressed);
  }

  bool finished() const {
    return std::ranges::all_of(sends_, [&](const auto& s) { return s.posted() == fillings_; }) &&
           std::ranges::all_of(recvs_, [&](const auto& r) { return r.released() == fillings_; }) &&
           transport_.flushed() && transport_.taken();
  }

  std::string describe() const {
    std::string text = "too slow; posted:";
    for (const SendStream& stream : sends_)
      text += ' ' + std::to_string(stream.posted());
    text += ", released:";
    for (const RecvStream& stream : recvs_)
      text += ' ' + std::to_string(stream.released());
    return text;
  }

  Transport& transport_;
  const std::uint64_t fillings_;
  std::minstd_rand random_;
  std::vector<SendStream> sends_;
  std::vector<RecvStream> recvs_;
};

}  // namespace

TransportTeam::TransportTeam(const TransportKind& kind, int ranks, SlotShape slots, int job) {
  std::vector<std::string> offers;
  for (int rank = 0; rank < ranks; ++rank) {
    members_.push_back(kind.make({rank, ranks, slots, job}));
    Result<std::string> offer = (*this)[rank].offer();
    if (offer.ok()) {
      offers.push_back(*std::move(offer));
    } else {
      ADD_FAILURE() << "rank " << rank << " has no offer: " << offer.status().message();
      return;
    }
  }
  open(offers);
}

void TransportTeam::open(const std::vector<std::string>& offers) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks(); ++rank) {
    threads.emplace_back([&, rank] {
      const Status opened = (*this)[rank].open(offers, Deadline::within(kTransportPatience));
      EXPECT_TRUE(opened.ok()) << "rank " << rank << ": " << opened.message();
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (const auto& member : members_) {
    const Status started = member->start();
    EXPECT_TRUE(started.ok()) << started.message();
  }
}

bool TransportTeam::progressUntil(const std::function<bool()>& done) {
  const Deadline deadline = Deadline::within(kTransportPatience);
  while (!done()) {
    bool moved = false;
    for (const auto& member : members_) {
      if (member == nullptr) continue;
      const Result<bool> progressed = member->transport().progress();
      EXPECT_TRUE(progressed.ok()) << progressed.status().message();
      moved |= progressed.ok() && *progressed;
    }
    if (deadline.passed()) {
      ADD_FAILURE() << "what was waited for did not come";
      return false;
    }
    if (!moved) std::this_thread::sleep_for(std::chrono::microseconds{50});
  }
  return true;
}

std::uint64_t StreamPlace::seedOf(std::uint64_t number) const {
  const auto place = static_cast<std::uint64_t>((from * 1000 + to) * 1000 + channel);
  return scramble(scramble(place) + number);
}

SlotEntry StreamPlace::entryOf(std::uint64_t number, std::size_t slotBytes) const {
  const std::uint64_t seed = seedOf(number);
  // Empty, full, and anything between.
  const std::size_t bytes = number % 7 == 0 ? 0 : number % 7 == 1 ? slotBytes : seed % slotBytes;
  return {bytes, scramble(seed)};
}

void StreamPlace::write(std::uint64_t number, std::span<std::byte> payload) const {
  std::uint64_t word = seedOf(number);
  for (std::size_t at = 0; at < payload.size(); at += sizeof word) {
    word += 0x9e3779b97f4a7c15ULL;
    std::memcpy(payload.data() + at, &word, std::min(sizeof word, payload.size() - at));
  }
}

bool SendStream::step() {
  if (!end_.slotFree()) return false;
  const SlotEntry entry = place_.entryOf(posted_, end_.slotBytes());
  place_.write(posted_, {end_.slot(), static_cast<std::size_t>(entry.bytes)});
  end_.post(entry);
  ++posted_;
  return true;
}

bool RecvStream::step() {
  if (!end_.slotFull()) return false;
  const SlotEntry expected = place_.entryOf(released_, slotBytes_);
  std::vector<std::byte> payload(static_cast<std::size_t>(expected.bytes));
  place_.write(released_, payload);
  EXPECT_EQ(end_.entry().bytes, expected.bytes);
  EXPECT_EQ(end_.entry().call, expected.call);
  EXPECT_TRUE(std::equal(payload.begin(), payload.end(), end_.slot()))
      << "filling " << released_ << " from rank " << place_.from << " to rank " << place_.to
      << " on channel " << place_.channel;
  end_.release();
  ++released_;
  return true;
}

void runExchanges(TransportTeam& team, const Exchanges& exchanges) {
  std::atomic<int> busy{team.ranks()};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < team.ranks(); ++rank) {
    threads.emplace_back([&, rank] { ExchangingRank(team, rank, exchanges).run(busy); });
  }
  for (std::thread& thread : threads)
    thread.join();
}

}  // namespace rondo::testing
