// The kernel of compressed collectives on the emulated GPU, under random schedules, and how it ends
// when it cannot finish. All codecs, types and sizes: device_compressed_test.cc.
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/any_schedule.h"
#include "collectives/coded.h"
#include "kernels/cuda/coded_executor.h"
#include "kernels/host/block_coder.h"
#include "src/format.h"
#include "tests/cuda/coded_kernel.h"
#include "tests/cuda/device_checks.h"
#include "tests/cuda/emulator/machine.h"
#include "tests/cuda/plain_wire.h"

namespace rondo::testing {
namespace {

using device::Report;
using emulator::Machine;
using emulator::Options;
using emulator::Outcome;

constexpr std::size_t kBlockElems = 16;
constexpr std::size_t kBlocksPerSlot = 3;

/// Sums of all ranks' floats, one after the other on the same connections.
struct Sum {
  Codec codec = Codec::kInt8;
  std::vector<std::vector<float>> inputs;  ///< by rank
  std::vector<std::vector<float>> outputs{};

  std::size_t count() const { return inputs.front().size(); }
};

/// Everything that one rank's launch points to.
struct CodedLaunch {
  BlockTensor tensor;
  std::vector<float> sums;
  std::vector<device::End*> send;
  std::vector<device::End*> recv;
  device::CodedLane coded;
  device::Lane lane;
  Report report;
  std::uint64_t nonFinite = 7;
};

class CodedRanks {
 public:
  CodedRanks(int ranks, std::uint32_t slotCount) : ranks_(ranks), slotCount_(slotCount) {}

  /// Queues the part of `rank`; `sum` must live until the machine has run.
  CodedLaunch& enqueue(Sum& sum, int rank, std::uint64_t call, Machine& machine) {
    CodedLaunch& made = *launches_.emplace_back(std::make_unique<CodedLaunch>());
    const auto place = static_cast<std::size_t>(rank);
    sum.outputs.resize(sum.inputs.size());
    sum.outputs[place].assign(sum.count(), -1.0F);
    bind(sum, rank, made);
    device::LaunchArgs args;
    args.ranks[0].lanes = &made.lane;
    args.ranks[0].input = reinterpret_cast<const std::byte*>(sum.inputs[place].data());
    args.ranks[0].output = reinterpret_cast<std::byte*>(sum.outputs[place].data());
    args.ranks[0].abortFlag = &abortFlag_;
    args.ranks[0].call = call;
    machine.launch({.name = fmt::format("rank {}", rank),
                    .kernel = "coded",
                    .threads = 64,
                    .sharedBytes = sizeof(device::CodedBlockState)},
                   [args] { codedKernel(args); });
    return made;
  }

  void abort() { std::atomic_ref(abortFlag_).store(1, std::memory_order_relaxed); }

 private:
  void bind(const Sum& sum, int rank, CodedLaunch& made) {
    const std::size_t blocks = ceilDiv(sum.count(), kBlockElems);
    made.lane.algorithm =
        findAlgorithm(Collective::kAllReduce, codedAlgorithmName(Collective::kAllReduce)).value();
    made.lane.schedule.rank = rank;
    made.lane.schedule.ranks = ranks_;
    made.lane.schedule.share = {0, blocks};
    made.lane.schedule.chunkElems = kBlocksPerSlot;
    const AnySchedule schedule(made.lane.algorithm, made.lane.schedule);
    for (int entry = 0; entry < schedule.sendPeers(); ++entry)
      made.send.push_back(&wire(rank, schedule.sendPeer(entry)).send);
    for (int entry = 0; entry < schedule.recvPeers(); ++entry)
      made.recv.push_back(&wire(schedule.recvPeer(entry), rank).recv);
    made.sums.resize(kBlocksPerSlot * kBlockElems);
    made.coded.codec = sum.codec;
    made.coded.map = {&made.tensor, 1, blocks, sum.count(), kBlockElems};
    made.coded.sums = made.sums.data();
    made.coded.nonFinite = &made.nonFinite;
    made.lane.send = made.send.data();
    made.lane.recv = made.recv.data();
    made.lane.scratch = reinterpret_cast<std::byte*>(&made.coded);
    made.lane.report = &made.report;
  }

  PlainWire& wire(int from, int to) {
    std::unique_ptr<PlainWire>& place = wires_[{from, to}];
    if (place == nullptr) {
      place = std::make_unique<PlainWire>(std::size_t{128}, slotCount_);
      place->send.peer = to;
      place->recv.peer = from;
    }
    return *place;
  }

  int ranks_;
  std::uint32_t slotCount_;
  std::uint32_t abortFlag_ = 0;
  std::map<std::pair<int, int>, std::unique_ptr<PlainWire>> wires_;
  std::vector<std::unique_ptr<CodedLaunch>> launches_;
};

Sum randomSum(std::uint64_t seed, int ranks) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  Sum sum;
  sum.codec = random() % 3 == 0 ? Codec::kBfloat16 : Codec::kInt8;
  const std::size_t count = 1 + random() % 300;
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<float>& input = sum.inputs.emplace_back(count);
    for (float& value : input)
      value = normal(random);
  }
  return sum;
}

/// decode(encode(values)), in place.
void roundTrip(Codec codec, std::vector<float>& values) {
  const host::BlockCoder coder(codec, host::SimdTarget::kScalar);
  for (std::size_t first = 0; first < values.size(); first += kBlockElems) {
    const std::size_t elems = minOf(kBlockElems, values.size() - first);
    std::vector<std::byte> codes(kBlockElems * 2);
    std::byte scale[4];
    coder.encode(values.data() + first, elems, {scale, codes.data()});
    coder.decode({scale, codes.data()}, elems, values.data() + first);
  }
}

std::vector<float> expectedOf(const Sum& sum) {
  std::vector<float> all;
  for (std::vector<float> values : sum.inputs) {
    roundTrip(sum.codec, values);
    if (all.empty()) {
      all = values;
    } else {
      for (std::size_t i = 0; i < all.size(); ++i)
        all[i] += values[i];
    }
  }
  roundTrip(sum.codec, all);
  return all;
}

TEST(CodedKernel, SumsFollowEachOtherUnderRandomSchedules) {
  const std::uint64_t seeds = kThinning > 1 ? 3 : 40;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const int ranks = 2 + static_cast<int>(seed % 3);
    Options options;
    options.schedule = emulator::Schedule::kRandom;
    options.seed = seed;
    options.switchChance = seed % 3 == 0 ? 0.05 : 0.5;
    Machine machine(options);
    CodedRanks team(ranks, 2 + static_cast<std::uint32_t>(seed % 2));
    std::vector<Sum> sums;
    for (std::uint64_t number = 0; number < 3; ++number)
      sums.push_back(randomSum(10 * seed + number, ranks));
    for (std::size_t number = 0; number < sums.size(); ++number) {
      for (int rank = 0; rank < ranks; ++rank)
        team.enqueue(sums[number], rank, number + 1, machine);
    }
    const Outcome outcome = machine.run();
    ASSERT_TRUE(outcome.finished) << "seed " << seed << ": " << outcome.report;
    for (const Sum& sum : sums) {
      const std::vector<float> expected = expectedOf(sum);
      for (const std::vector<float>& output : sum.outputs)
        ASSERT_EQ(output, expected) << "seed " << seed << " count " << sum.count();
    }
  }
}

TEST(CodedKernel, AnAbortEndsEveryWait) {
  Sum sum = randomSum(1, 2);
  CodedRanks team(2, 2);
  Machine machine;
  const CodedLaunch& launched = team.enqueue(sum, 0, 1, machine);
  const std::uint64_t nothing = 0;
  machine.launch({.name = "host", .threads = 1}, [&] {
    for (int look = 0; look < 300; ++look)
      (void)device::observeCounter(nothing);
    team.abort();
  });
  const Outcome outcome = machine.run();
  ASSERT_TRUE(outcome.finished) << outcome.report;
  EXPECT_EQ(launched.report.state, Report::kAborted);
  EXPECT_EQ(launched.nonFinite, 7U) << "nothing is said of a call that has failed";
}

TEST(CodedKernel, AnotherCallOfThePeerIsNamed) {
  Sum sum = randomSum(1, 2);
  CodedRanks team(2, 2);
  Machine machine;
  const CodedLaunch& first = team.enqueue(sum, 0, 1, machine);
  const CodedLaunch& second = team.enqueue(sum, 1, 2, machine);
  const Outcome outcome = machine.run();
  ASSERT_TRUE(outcome.finished) << outcome.report;
  EXPECT_EQ(first.report.state, Report::kMismatch);
  EXPECT_EQ(first.report.peer, 1);
  EXPECT_EQ(first.report.otherCall, 2U);
  EXPECT_EQ(second.report.state, Report::kMismatch);
}

}  // namespace
}  // namespace rondo::testing
