// Proves the order of point-to-point groups: random sparse groups, whose ranks run by the progress
// rule of the executors with few slots and in any order, all end, and every piece is received as
// what it was sent as. Orders that are known to be wrong must be seen to deadlock.
#include "collectives/point_to_point/message_rounds.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/host/message_table.h"
#include "kernels/step_ready.h"
#include "tests/schedule/sparse_group.h"

namespace rondo::verifier {
namespace {

using testing::SparseGroups;
using testing::SparseMessage;

/// Where a rank's steps come from.
enum class Order {
  kRounds,      ///< the library's
  kPeers,       ///< by the peer's rank, first what is sent to it, then what it sends
  kWrongSign,   ///< what is received from a rank in the round of what is sent to it
  kSendsFirst,  ///< by round, but all that is sent in one before all that is received
};

/// What a slot carries.
struct Piece {
  std::size_t message = 0;  ///< in the group
  std::size_t offset = 0;
  std::size_t elems = 0;

  friend bool operator==(const Piece&, const Piece&) = default;
};

/// A step with its peer and its message in the group.
struct PaperStep {
  bool sends = false;
  int peer = 0;
  int round = 0;
  Piece piece;
};

/// The messages of one rank, and which of the group they are.
struct Listed {
  std::vector<host::ListedMessage> messages;
  std::vector<std::size_t> inGroup;
};

Listed listOf(const std::vector<SparseMessage>& group, int rank) {
  Listed listed;
  for (std::size_t message = 0; message < group.size(); ++message) {
    const auto [from, to, elems] = group[message];
    if (from == to || (from != rank && to != rank)) continue;
    listed.messages.push_back({from == rank ? to : from, elems, from == rank});
    listed.inGroup.push_back(message);
  }
  return listed;
}

std::vector<PaperStep> stepsOf(const host::MessagePlace& place, const Listed& listed) {
  const host::MessageTable table(place, listed.messages);
  const MessageRounds rounds = table.rounds();
  std::vector<PaperStep> steps;
  for (std::size_t index = 0; index < rounds.size(); ++index) {
    const MessageStep step = rounds.step(index);
    const int peer = step.sends ? table.sendPeer(step.round) : table.recvPeer(step.round);
    steps.push_back({step.sends,
                     peer,
                     static_cast<int>(step.round),
                     {listed.inGroup[step.message], step.offset, step.elems}});
  }
  return steps;
}

void reorder(std::vector<PaperStep>& steps, Order order, int rank, int ranks) {
  const auto key = [=](const PaperStep& step) {
    const int second = step.sends ? 0 : 1;
    if (order == Order::kPeers) return std::pair(step.peer, second);
    if (order == Order::kSendsFirst) return std::pair(step.round, second);
    return std::pair(messageRound(rank, step.peer, ranks), 0);
  };
  if (order != Order::kRounds) std::ranges::stable_sort(steps, {}, key);
}

/// All ranks' lanes over connections of a few slots.
class PaperRun {
 public:
  PaperRun(
      const std::vector<SparseMessage>& group, int ranks, int lanes, std::size_t slots, Order order)
      : slots_(slots), left_(group.size()) {
    for (std::size_t message = 0; message < group.size(); ++message)
      left_[message] = group[message].from == group[message].to ? 0 : group[message].elems;
    for (int rank = 0; rank < ranks; ++rank) {
      const Listed listed = listOf(group, rank);
      for (int lane = 0; lane < lanes; ++lane) {
        constexpr std::size_t kPieceElems = 3;
        lanes_.push_back({rank, stepsOf({rank, ranks, lane, lanes, kPieceElems}, listed), 0});
        reorder(lanes_.back().steps, order, rank, ranks);
      }
    }
  }

  /// "" if everything ended as it should.
  std::string run(SparseGroups& random) {
    std::vector<std::size_t> turns(lanes_.size());
    std::iota(turns.begin(), turns.end(), std::size_t{0});
    for (bool moved = true; moved && fault_.empty();) {
      moved = false;
      std::shuffle(turns.begin(), turns.end(),
                   std::minstd_rand(static_cast<unsigned>(random.upTo(1U << 30))));
      for (const std::size_t lane : turns) {
        for (std::size_t burst = random.upTo(5); tryStep(lanes_[lane]) && burst > 0; --burst)
          moved = true;
      }
      moved |= std::ranges::any_of(lanes_, [&](Lane& lane) { return tryStep(lane); });
    }
    if (fault_.empty()) checkEnd();
    return fault_;
  }

 private:
  struct Lane {
    int rank = 0;
    std::vector<PaperStep> steps;
    std::size_t next = 0;
  };

  /// The connections of one step, as stepReady() asks for them.
  struct Ends {
    std::deque<Piece>& wire;
    std::size_t slots;

    bool recvSlotFull(int) const { return !wire.empty(); }

    bool sendSlotFree(int) const { return wire.size() < slots; }
  };

  bool tryStep(Lane& lane) {
    if (lane.next == lane.steps.size() || !fault_.empty()) return false;
    const PaperStep& at = lane.steps[lane.next];
    std::deque<Piece>& wire =
        at.sends ? wires_[{lane.rank, at.peer}] : wires_[{at.peer, lane.rank}];
    MessageStep step;
    step.sends = at.sends;
    if (!stepReady(step.step(), Ends{wire, slots_})) return false;
    if (at.sends) {
      wire.push_back(at.piece);
    } else {
      receive(at.piece, wire);
    }
    ++lane.next;
    return true;
  }

  void receive(const Piece& expected, std::deque<Piece>& wire) {
    const Piece got = wire.front();
    wire.pop_front();
    if (got != expected) fault_ = "a piece was received as another one";
    if (left_[expected.message] < got.elems) fault_ = "a message is longer than it should be";
    left_[expected.message] -= got.elems;
  }

  void checkEnd() {
    for (const Lane& lane : lanes_) {
      if (lane.next < lane.steps.size()) fault_ = "deadlock";
    }
    if (!fault_.empty()) return;
    for (const auto& [pair, wire] : wires_) {
      if (!wire.empty()) fault_ = "pieces were left";
    }
    for (const std::size_t left : left_) {
      if (left != 0) fault_ = "a message is shorter than it should be";
    }
  }

  std::size_t slots_;
  std::vector<std::size_t> left_;  // elements to receive, by message
  std::vector<Lane> lanes_;
  std::map<std::pair<int, int>, std::deque<Piece>> wires_;
  std::string fault_;
};

std::string textOf(const std::vector<SparseMessage>& group) {
  std::ostringstream text;
  for (const SparseMessage& message : group)
    text << ' ' << message.from << "->" << message.to << ':' << message.elems;
  return text.str();
}

constexpr std::size_t kMostElems = 40;  // of pieces of 3: more than the slots hold

TEST(MessageRounds, TenThousandSparseGroupsEnd) {
  for (std::uint64_t seed = 1; seed <= 10000; ++seed) {
    SparseGroups random(seed);
    const int ranks = static_cast<int>(2 + random.upTo(7));
    const std::vector<SparseMessage> group = random.next(ranks, kMostElems);
    const int lanes = static_cast<int>(1 + random.upTo(3));
    for (const std::size_t slots : {1U, 2U, 3U, 8U}) {
      PaperRun run(group, ranks, lanes, slots, Order::kRounds);
      ASSERT_EQ(run.run(random), "") << "seed " << seed << ", " << ranks << " ranks, " << lanes
                                     << " lanes, " << slots << " slots:" << textOf(group);
    }
  }
}

TEST(MessageRounds, ManyRanks) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SparseGroups random(seed);
    const int ranks = static_cast<int>(9 + random.upTo(40));
    const std::vector<SparseMessage> group = random.next(ranks, kMostElems);
    PaperRun run(group, ranks, 4, 2, Order::kRounds);
    ASSERT_EQ(run.run(random), "") << "seed " << seed << ", " << ranks << " ranks";
  }
}

/// How many of 300 dense groups do not end.
int deadlocks(Order order) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SparseGroups random(seed);
    const int ranks = static_cast<int>(3 + random.upTo(5));
    const std::vector<SparseMessage> group = random.next(ranks, kMostElems);
    PaperRun run(group, ranks, 1, 2, order);
    found += run.run(random) == "deadlock" ? 1 : 0;
  }
  return found;
}

TEST(MessageRounds, WrongOrdersAreSeenToDeadlock) {
  EXPECT_EQ(deadlocks(Order::kRounds), 0);
  EXPECT_GT(deadlocks(Order::kPeers), 30);
  EXPECT_GT(deadlocks(Order::kWrongSign), 30);
  EXPECT_GT(deadlocks(Order::kSendsFirst), 30);
}

/// Both ends of every message must find it in the same lane.
TEST(MessageRounds, EndsAgreeOnTheRound) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (int from = 0; from < ranks; ++from) {
      for (int distance = 0; distance < ranks; ++distance) {
        const int to = ringRank(from, distance, ranks);
        EXPECT_EQ(messageRound(from, to, ranks), distance);
      }
    }
  }
}

TEST(MessageRounds, PiecesOfSendsAndReceivesAlternate) {
  const std::vector<host::ListedMessage> messages{{1, 7, true}, {1, 0, true}, {3, 3, false}};
  const host::MessageTable table({0, 4, 0, 1, 3}, messages);
  std::string text;
  for (std::size_t index = 0; index < table.rounds().size(); ++index) {
    const MessageStep step = table.rounds().step(index);
    text += (step.sends ? "s" : "r") + std::to_string(step.message) + ":" +
            std::to_string(step.offset) + "+" + std::to_string(step.elems) + " ";
  }
  EXPECT_EQ(text, "s0:0+3 r2:0+3 s0:3+3 s0:6+1 s1:0+0 ");
}

}  // namespace
}  // namespace rondo::verifier
