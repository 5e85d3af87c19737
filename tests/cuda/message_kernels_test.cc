// The kernel of messages on the emulated GPU: random groups under random schedules, and how it ends
// when it cannot finish.
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/cuda/waiting.h"
#include "kernels/host/message_table.h"
#include "src/format.h"
#include "tests/cuda/device_checks.h"
#include "tests/cuda/emulator/machine.h"
#include "tests/cuda/message_kernel.h"
#include "tests/cuda/plain_wire.h"
#include "tests/schedule/sparse_group.h"

namespace rondo::testing {
namespace {

using device::Report;
using emulator::Machine;
using emulator::Options;
using emulator::Outcome;

constexpr int kLanes = 2;  // fewer than rounds, so that some share one

struct Shape {
  int ranks = 2;
  std::size_t slotBytes = 64;
  std::uint32_t slotCount = 2;
};

/// What one launch points to.
struct LaunchTables {
  std::vector<host::MessageTable> tables;
  std::vector<std::vector<device::End*>> ends;
  std::vector<device::Message> messages;
  std::vector<device::OwnMessage> own;
  std::vector<device::MessageLane> lanes;
  std::array<Report, kLanes> reports{};
};

/// A message with a buffer at each end, of bytes.
struct Letter {
  SparseMessage what;
  std::size_t shift = 0;  ///< of the buffers, from a boundary
  std::uint64_t label = 0;
  std::vector<std::byte> out;
  std::vector<std::byte> in;

  const std::byte* source() const { return out.data() + shift; }

  std::byte* target() { return in.data() + 16 - shift; }
};

class MessageRanks {
 public:
  explicit MessageRanks(const Shape& shape) : shape_(shape) {}

  /// Queues what `rank` has of `letters`, which must live until the machine has run.
  LaunchTables& enqueue(std::vector<Letter>& letters, int rank, Machine& machine) {
    LaunchTables& made = *launches_.emplace_back(std::make_unique<LaunchTables>());
    std::vector<host::ListedMessage> listed;
    for (Letter& letter : letters) {
      const SparseMessage& what = letter.what;
      if (what.from == rank && what.to == rank)
        made.own.push_back({letter.source(), letter.target(), what.elems});
      if (what.from == what.to) continue;
      const auto add = [&](int peer, bool sends) {
        listed.push_back({peer, what.elems, sends});
        made.messages.push_back({letter.source(), letter.target(), letter.label});
      };
      if (what.from == rank) add(what.to, true);
      if (what.to == rank) add(what.from, false);
    }
    made.tables.reserve(kLanes);
    for (int lane = 0; lane < kLanes; ++lane)
      addLane(made, {rank, shape_.ranks, lane, kLanes, shape_.slotBytes}, listed);
    made.lanes.front().own = {made.own.data(), made.own.size()};
    device::MessageArgs args;
    args.work.abortFlag = &abortFlag_;
    args.work.call = kCall;
    args.lanes = made.lanes.data();
    machine.launch({.name = fmt::format("rank {}", rank), .kernel = "messages", .blocks = kLanes},
                   [args] { messageKernel(args); });
    return made;
  }

  void abort() { std::atomic_ref(abortFlag_).store(1, std::memory_order_relaxed); }

  static constexpr std::uint64_t kCall = 77;

 private:
  void addLane(LaunchTables& made,
               const host::MessagePlace& place,
               const std::vector<host::ListedMessage>& listed) {
    const host::MessageTable& table = made.tables.emplace_back(place, listed);
    std::vector<device::End*> send;
    std::vector<device::End*> recv;
    for (std::size_t round = 0; round < table.roundCount(); ++round) {
      const int to = table.sendPeer(round);
      const int from = table.recvPeer(round);
      send.push_back(to < 0 ? nullptr : &wire(place.rank, to).send);
      recv.push_back(from < 0 ? nullptr : &wire(from, place.rank).recv);
    }
    device::MessageLane lane;
    lane.rounds = {table.roundList().data(), table.roundList().size()};
    lane.sends = {table.sendList().data(), table.sendList().size()};
    lane.recvs = {table.recvList().data(), table.recvList().size()};
    lane.send = made.ends.emplace_back(std::move(send)).data();
    lane.recv = made.ends.emplace_back(std::move(recv)).data();
    lane.messages = made.messages.data();
    lane.pieceBytes = shape_.slotBytes;
    lane.report = &made.reports[made.lanes.size()];
    made.lanes.push_back(lane);
  }

  PlainWire& wire(int from, int to) {
    std::unique_ptr<PlainWire>& place = wires_[{from, to}];
    if (place == nullptr) place = std::make_unique<PlainWire>(shape_.slotBytes, shape_.slotCount);
    return *place;
  }

  Shape shape_;
  std::uint32_t abortFlag_ = 0;
  std::map<std::pair<int, int>, std::unique_ptr<PlainWire>> wires_;
  std::vector<std::unique_ptr<LaunchTables>> launches_;
};

Letter letterOf(const SparseMessage& what, std::uint64_t number) {
  Letter letter{what, number % 16, number, {}, std::vector<std::byte>(what.elems + 32)};
  for (std::size_t at = 0; at < what.elems + letter.shift; ++at)
    letter.out.push_back(static_cast<std::byte>(number * 31 + at * 7 + 1));
  letter.out.emplace_back();
  return letter;
}

bool arrived(Letter& letter) {
  const std::size_t before = 16 - letter.shift;
  for (std::size_t at = 0; at < letter.in.size(); ++at) {
    const bool inside = at >= before && at < before + letter.what.elems;
    const std::byte expected = inside ? letter.source()[at - before] : std::byte{};
    if (letter.in[at] != expected) return false;
  }
  return true;
}

Options randomOptions(std::uint64_t seed) {
  Options options;
  options.schedule = emulator::Schedule::kRandom;
  options.seed = seed;
  options.switchChance = seed % 3 == 0 ? 0.05 : 0.5;
  return options;
}

TEST(MessageKernel, RandomGroupsFollowEachOtherUnderRandomSchedules) {
  const std::uint64_t seeds = kThinning > 1 ? 3 : 60;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SparseGroups random(seed);
    const Shape shape{2 + static_cast<int>(random.upTo(3)), 64,
                      1 + static_cast<std::uint32_t>(seed % 3)};
    MessageRanks ranks(shape);
    Machine machine(randomOptions(seed));
    std::vector<std::vector<Letter>> groups;
    std::uint64_t number = 0;
    for (int group = 0; group < 3; ++group) {
      std::vector<Letter>& letters = groups.emplace_back();
      for (const SparseMessage& what : random.next(shape.ranks, 500))
        letters.push_back(letterOf(what, ++number));
    }
    for (std::vector<Letter>& letters : groups) {
      for (int rank = 0; rank < shape.ranks; ++rank)
        ranks.enqueue(letters, rank, machine);
    }
    const Outcome outcome = machine.run();
    ASSERT_TRUE(outcome.finished) << "seed " << seed << ": " << outcome.report;
    for (std::vector<Letter>& letters : groups) {
      for (Letter& letter : letters) {
        ASSERT_TRUE(arrived(letter)) << "seed " << seed << " message " << letter.label << " of "
                                     << letter.what.elems << " bytes";
      }
    }
  }
}

/// A host that acts when it has looked at `word` so often, or it is not 0.
void launchHost(Machine& machine,
                const std::uint64_t& word,
                std::size_t looks,
                std::function<void()> act) {
  machine.launch({.name = "host", .threads = 1}, [=, &word] {
    for (std::size_t i = 0; i < looks; ++i) {
      if (device::observeCounter(word) != 0) break;
    }
    act();
  });
}

/// Longer than a wait that has taken long.
Options patientOptions() {
  Options options;
  options.idleRounds = 4 * device::kPollsPerLook * device::kPatientLooks;
  return options;
}

constexpr std::size_t kEndless = 20 * std::size_t{device::kPollsPerLook} * device::kPatientLooks;

TEST(MessageKernel, AnAbortEndsEveryWait) {
  for (const bool sends : {true, false}) {
    MessageRanks ranks({});
    std::vector<Letter> letters;
    letters.push_back(letterOf(sends ? SparseMessage{0, 1, 1000} : SparseMessage{1, 0, 1000}, 1));
    Machine machine;
    const LaunchTables& launched = ranks.enqueue(letters, 0, machine);
    const std::uint64_t nothing = 0;
    launchHost(machine, nothing, 300, [&] { ranks.abort(); });
    const Outcome outcome = machine.run();
    ASSERT_TRUE(outcome.finished) << outcome.report;
    EXPECT_EQ(launched.reports[1].state, Report::kAborted);
    EXPECT_EQ(launched.reports[0].state, Report::kNoFailure) << "it had nothing to do";
  }
}

TEST(MessageKernel, AMessageThatDiffersIsNamed) {
  for (const bool size : {true, false}) {
    MessageRanks ranks({});
    std::vector<Letter> sent;
    std::vector<Letter> received;
    for (const std::uint64_t number : {1, 2}) {
      sent.push_back(letterOf({0, 1, 50}, number));
      received.push_back(letterOf({0, 1, size && number == 2 ? 49U : 50U}, number));
    }
    if (!size) received.back().label = 5;
    Machine machine;
    ranks.enqueue(sent, 0, machine);
    const LaunchTables& launched = ranks.enqueue(received, 1, machine);
    const Outcome outcome = machine.run();
    ASSERT_TRUE(outcome.finished) << outcome.report;
    const Report& report = launched.reports[1];
    EXPECT_EQ(report.state, Report::kMismatch);
    EXPECT_EQ(report.peer, 1) << "the number of the message";
    EXPECT_EQ(report.otherCall, 2U);
  }
}

TEST(MessageKernel, ALongWaitIsToldUntilItIsOver) {
  MessageRanks ranks({});
  std::vector<Letter> letters;
  letters.push_back(letterOf({1, 0, 50}, 1));
  Machine machine(patientOptions());
  LaunchTables& launched = ranks.enqueue(letters, 0, machine);
  std::int32_t told = 0;
  bool started = false;
  const std::uint64_t& waits = launched.reports[1].waits;
  // In the queue of the other rank, whose kernel comes behind.
  machine.launch({.name = "rank 1", .threads = 1}, [&] {
    for (std::size_t i = 0; i < kEndless && device::observeCounter(waits) == 0; ++i) {
    }
    told = Report::waitingFor(device::observeCounter(waits), MessageRanks::kCall);
    started = true;
  });
  ranks.enqueue(letters, 1, machine);
  const Outcome outcome = machine.run();
  ASSERT_TRUE(outcome.finished) << outcome.report;
  EXPECT_TRUE(started);
  EXPECT_EQ(told, 1) << "message 0, which is received";
  EXPECT_EQ(waits, 0U);
  EXPECT_TRUE(arrived(letters.front()));
}

}  // namespace
}  // namespace rondo::testing
