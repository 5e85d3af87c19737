// Proves the schedules that take blocks of different sizes with random sizes, empty blocks among
// them: they end at every depth, put every element where it belongs and nothing anywhere else, fold
// in rank order, and cost what they say. Blocks of one size are the verifier's (verifier.h).
#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/any_schedule.h"
#include "collectives/buffers.h"
#include "kernels/step_ready.h"

namespace rondo::verifier {
namespace {

using Sizes = std::vector<std::size_t>;

/// The inputs' elements that were folded into one, in this order: rank and index of each.
using Term = std::pair<int, std::size_t>;
using Sum = std::vector<Term>;
using Payload = std::vector<Sum>;

/// A call whose blocks each rank has at places of its own.
struct VariedCall {
  AlgorithmId algorithm{};
  int ranks = 1;
  int root = 0;
  std::vector<Sizes> sizes;  // by sender and receiver; all rows are alike but for all-to-all

  Collective collective() const { return algorithmInfo(algorithm).collective; }

  const Sizes& sentBy(int rank) const { return sizes[static_cast<std::size_t>(rank)]; }

  Sizes receivedBy(int rank) const {
    Sizes received;
    for (int from = 0; from < ranks; ++from) {
      const int block = collective() == Collective::kAllToAll ? rank : from;
      received.push_back(sizes[static_cast<std::size_t>(from)][static_cast<std::size_t>(block)]);
    }
    return received;
  }
};

/// Blocks in rank order, with a gap before each that grows.
Sizes placesOf(const Sizes& sizes) {
  Sizes places;
  std::size_t at = 0;
  for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
    at += rank;
    places.push_back(at);
    at += sizes[rank];
  }
  return places;
}

class PaperRank {
 public:
  PaperRank(const VariedCall& call, int rank)
      : call_(call),
        rank_(rank),
        sent_(call.sentBy(rank)),
        received_(call.receivedBy(rank)),
        sentPlaces_(placesOf(sent_)),
        receivedPlaces_(placesOf(received_)),
        schedule_(call.algorithm, args()) {}

  bool done() const { return next_ == schedule_.size(); }

  using Wires = std::map<std::pair<int, int>, std::deque<Payload>>;

  bool tryStep(Wires& wires, std::size_t slots) {
    if (done()) return false;
    const Step step = schedule_.step(next_);

    struct Ends {
      const AnySchedule& schedule;
      Wires& wires;
      int rank;
      std::size_t slots;

      bool recvSlotFull(int entry) { return !wires[{schedule.recvPeer(entry), rank}].empty(); }

      bool sendSlotFree(int entry) {
        return wires[{rank, schedule.sendPeer(entry)}].size() < slots;
      }
    };

    if (!stepReady(step, Ends{schedule_, wires, rank_, slots})) return false;
    run(step, wires);
    ++next_;
    return true;
  }

  /// Empty if the output is what it must be.
  std::string fault() const {
    std::map<std::size_t, Sum> wanted;
    if (outputBlocks(call_.collective(), {rank_, call_.ranks, call_.root}) > 0) expect(wanted);
    if (output_ != wanted) return "rank " + std::to_string(rank_) + " got something else";
    const Cost cost = schedule_.cost();
    if (cost.steps != schedule_.size() || cost.slotsSent != slotsSent_ ||
        cost.elemsSent != elemsSent_)
      return "rank " + std::to_string(rank_) + " costs something else";
    return {};
  }

 private:
  bool holdsInput() const { return holdsBlocks(buffersOf(call_.collective()).input); }

  bool holdsOutput() const { return holdsBlocks(buffersOf(call_.collective()).output); }

  /// As src/prepared_operation.cc makes them of a call's arrays.
  ScheduleArgs args() const {
    const std::size_t own = sent_[static_cast<std::size_t>(rank_)];
    const bool away = hasRoot(call_.collective()) && rank_ != call_.root;
    ScheduleArgs args;
    args.rank = rank_;
    args.ranks = call_.ranks;
    args.root = call_.root;
    args.layout = away           ? Layout(own)
                  : holdsInput() ? Layout(sent_.data(), sentPlaces_.data())
                                 : Layout(received_.data(), receivedPlaces_.data());
    args.outputLayout = Layout(received_.data(), receivedPlaces_.data());
    args.share = {0, own};
    args.chunkElems = 4;
    args.grain = 2;
    return args;
  }

  void run(const Step& step, Wires& wires) {
    Payload values(step.elems);
    for (int source = 0; source <= step.recv.count; ++source) {
      if (step.own == Source::kInput && source == std::min(step.ownPosition, step.recv.count)) {
        for (std::size_t i = 0; i < step.elems; ++i)
          values[i].emplace_back(rank_, step.inputOffset + i);
      }
      if (source == step.recv.count) break;
      std::deque<Payload>& wire = wires[{schedule_.recvPeer(step.recv.first + source), rank_}];
      ASSERT_EQ(wire.front().size(), step.elems);
      for (std::size_t i = 0; i < step.elems; ++i)
        values[i].insert(values[i].end(), wire.front()[i].begin(), wire.front()[i].end());
      wire.pop_front();
    }
    for (int entry = 0; entry < step.send.count; ++entry) {
      wires[{rank_, schedule_.sendPeer(step.send.first + entry)}].push_back(values);
      ++slotsSent_;
      elemsSent_ += step.elems;
    }
    for (std::size_t i = 0; step.to == Sink::kOutput && i < step.elems; ++i) {
      const bool fresh = output_.emplace(step.outputOffset + i, values[i]).second;
      ASSERT_TRUE(fresh) << "stored twice";
    }
  }

  /// Where rank `from` has what this rank gets of it.
  std::size_t placeAt(int from) const {
    if (!holdsInput()) return 0;
    return placesOf(call_.sentBy(from))[static_cast<std::size_t>(rank_)];
  }

  void expect(std::map<std::size_t, Sum>& wanted) const {
    const auto own = static_cast<std::size_t>(rank_);
    if (isReduction(call_.collective())) {
      for (std::size_t i = 0; i < sent_[own]; ++i) {
        for (int from = 0; from < call_.ranks; ++from)
          wanted[i].emplace_back(from, placeAt(from) + i);
      }
    } else if (!holdsOutput()) {
      for (std::size_t i = 0; i < sent_[own]; ++i)
        wanted[i] = {{call_.root, placeAt(call_.root) + i}};
    } else {
      for (int from = 0; from < call_.ranks; ++from) {
        for (std::size_t i = 0; i < received_[static_cast<std::size_t>(from)]; ++i) {
          wanted[receivedPlaces_[static_cast<std::size_t>(from)] + i] = {{from, placeAt(from) + i}};
        }
      }
    }
  }

  const VariedCall& call_;
  int rank_;
  Sizes sent_;
  Sizes received_;
  Sizes sentPlaces_;
  Sizes receivedPlaces_;
  AnySchedule schedule_;
  std::size_t next_ = 0;
  std::size_t slotsSent_ = 0;
  std::size_t elemsSent_ = 0;
  std::map<std::size_t, Sum> output_;  // by element
};

std::string play(const VariedCall& call, std::size_t slots, std::mt19937_64& random) {
  std::deque<PaperRank> ranks;  // made in place: schedules look into them
  for (int rank = 0; rank < call.ranks; ++rank)
    ranks.emplace_back(call, rank);
  PaperRank::Wires wires;
  std::vector<PaperRank*> order;
  for (PaperRank& rank : ranks)
    order.push_back(&rank);
  for (bool moved = true; moved;) {
    moved = false;
    std::ranges::shuffle(order, random);
    for (PaperRank* const rank : order) {
      for (std::size_t burst = 1 + random() % 9; burst > 0 && rank->tryStep(wires, slots); --burst)
        moved = true;
    }
  }
  for (const PaperRank& rank : ranks) {
    if (!rank.done()) return "deadlock";
    if (const std::string fault = rank.fault(); !fault.empty()) return fault;
  }
  for (const auto& [pair, wire] : wires) {
    if (!wire.empty()) return "slots were left";
  }
  return {};
}

VariedCall draw(AlgorithmId algorithm, std::mt19937_64& random) {
  VariedCall call;
  call.algorithm = algorithm;
  call.ranks = static_cast<int>(1 + random() % 7);
  call.root = static_cast<int>(random() % static_cast<std::uint64_t>(call.ranks));
  const auto n = static_cast<std::size_t>(call.ranks);
  Sizes row;
  for (std::size_t from = 0; from < n; ++from) {
    if (from == 0 || call.collective() == Collective::kAllToAll) {
      row.clear();
      for (std::size_t to = 0; to < n; ++to)
        row.push_back(random() % 3 == 0 ? 0 : random() % 50);
    }
    call.sizes.push_back(row);
  }
  return call;
}

TEST(VariedBlocks, EveryScheduleThatTakesThem) {
  int algorithms = 0;
  for (std::size_t at = 0; at < kAlgorithmCount; ++at) {
    const AlgorithmInfo& info = algorithmInfo(algorithmAt(at));
    if (!info.variedBlocks) continue;
    ++algorithms;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
      std::mt19937_64 random(seed);
      const VariedCall call = draw(algorithmAt(at), random);
      for (const int slots : {1, 2, 3, 8}) {
        if (slots < info.minSlots) continue;
        ASSERT_EQ(play(call, static_cast<std::size_t>(slots), random), "")
            << collectiveName(info.collective) << "/" << info.name << " seed " << seed << ", "
            << call.ranks << " ranks, " << slots << " slots";
      }
    }
  }
  EXPECT_EQ(algorithms, 5);
}

}  // namespace
}  // namespace rondo::verifier
