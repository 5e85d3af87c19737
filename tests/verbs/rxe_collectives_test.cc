// All collectives between processes over soft-RoCE devices (rxe_network.h), by every algorithm, and
// with loss of packets.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/registry.h"
#include "rondo/rondo.h"
#include "src/format.h"
#include "tests/multiprocess/every_collective.h"
#include "tests/multiprocess/forked_ranks.h"
#include "tests/verbs/rxe_network.h"

namespace rondo::testing {
namespace {

/// Several packets.
constexpr std::int64_t kChunkBytes = 16384;

/// Elements of 4 bytes: one, and several chunks with a ragged end.
constexpr std::array<std::size_t, 2> kCounts = {1, 9001};

/// Rows of the registry for one collective.
std::size_t algorithmsOf(Collective collective) {
  return static_cast<std::size_t>(
      std::ranges::count(AllSchedules::kInfos, collective, &AlgorithmInfo::collective));
}

/// RONDO_ALGORITHM of round `round`: another algorithm for each collective, until they repeat.
std::string algorithmsOfRound(std::size_t round) {
  std::string list;
  std::array<std::size_t, kCollectiveCount> seen{};
  for (const AlgorithmInfo& info : AllSchedules::kInfos) {
    const std::size_t number = seen[static_cast<std::size_t>(info.collective)]++;
    if (number != round % algorithmsOf(info.collective)) continue;
    list +=
        fmt::format("{}{}:{}", list.empty() ? "" : ",", collectiveName(info.collective), info.name);
  }
  return list;
}

struct Setting {
  int ranks = 2;
  RxeHosts hosts;
  std::vector<std::size_t> rounds;  ///< of algorithms
};

/// The rank's part; what is wrong is on stderr.
int callAlgorithms(rondoComm_t comm, int rank, const Setting& setting) {
  int wrong = 0;
  for (const std::size_t round : setting.rounds) {
    const std::string algorithms = algorithmsOfRound(round);
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.algorithm = algorithms.c_str();
    config.chunkBytes = kChunkBytes;
    config.channels = setting.hosts.rails;  // which take turns over the devices
    rondoComm_t split = nullptr;
    if (failed(comm, rondoCommSplit(comm, 0, 0, &split, &config)) != 0) return 1;
    const int lastRank = std::max(1, setting.ranks - 1);
    for (const std::size_t count : kCounts)
      wrong += callEverything(split, setting.ranks, rank, count, lastRank);
    wrong += failed(split, rondoCommDestroy(split));
    if (wrong > 0) break;
  }
  return wrong;
}

/// A rank's part; what is wrong is on stderr.
using RankPart = std::function<int(rondoComm_t comm, int rank, const Setting& setting)>;

void run(const Setting& setting, const char* ackTimeout, const RankPart& part = callAlgorithms) {
  ForkedRanks processes(setting.ranks, [&](int rank, const rondoUniqueId_t& id) {
    // NOLINTBEGIN(concurrency-mt-unsafe): a forked child has one thread
    ::setenv("RONDO_IB_DEVICES", setting.hosts.devicesOf(rank).c_str(), 1);
    ::setenv("RONDO_IB_TIMEOUT", ackTimeout, 1);
    // NOLINTEND(concurrency-mt-unsafe)
    rondoComm_t comm = joinOrExit(setting.ranks, rank, id);
    const int wrong = part(comm, rank, setting);
    return wrong + failed(comm, rondoCommDestroy(comm));
  });
  processes.expectSuccess();
}

class RxeCollectives : public ::testing::TestWithParam<Setting> {};

TEST_P(RxeCollectives, GiveRightResults) {
  const auto& [ranks, hosts, rounds] = GetParam();
  std::vector<std::uint64_t> before;
  for (int device = 0; device < hosts.devices(); ++device)
    before.push_back(rxeCounter(device, "sent_pkts"));
  run(GetParam(), "18");
  for (int device = 0; device < hosts.devices(); ++device) {
    EXPECT_GT(rxeCounter(device, "sent_pkts"), before[static_cast<std::size_t>(device)] + 50)
        << "rxe" << device << " is not used";
  }
}

// Buffers that are registered.

constexpr std::size_t kBufferElems = 200000;  // several chunks, the last of them ragged

/// Memory of this process that adapters have locked.
long lockedKiB() {
  std::ifstream status("/proc/self/status");
  std::string word;
  long kibibytes = -1;
  while (status >> word)
    if (word == "VmPin:" && status >> kibibytes) break;
  return kibibytes;
}

/// Sums what the ranks have put into registered buffers, in place or not, and passes it on.
int sumAndPass(rondoComm_t comm, int rank, int ranks, int round, std::span<float> memory) {
  const std::span<float> input = memory.first(kBufferElems);
  const std::span<float> output =
      round % 2 == 0 ? input : memory.subspan(kBufferElems, kBufferElems);
  const auto valueOf = [round](int of, std::size_t at) {
    return static_cast<float>((at + static_cast<std::size_t>(7 * of + round)) % 100);
  };
  for (std::size_t at = 0; at < input.size(); ++at)
    input[at] = valueOf(rank, at);
  int wrong = failed(comm, rondoAllReduce(input.data(), output.data(), input.size(), rondoFloat32,
                                          rondoSum, comm, nullptr));
  if (output.data() != input.data()) std::ranges::fill(input, -1.0F);
  for (std::size_t at = 0; at < output.size(); ++at) {
    float sum = 0;
    for (int other = 0; other < ranks; ++other)
      sum += valueOf(other, at);
    wrong += output[at] == sum ? 0 : 1;
  }
  const std::span<float> received = memory.last(kBufferElems);
  for (std::size_t at = 0; at < output.size(); ++at)
    output[at] = valueOf(rank, at);
  const int before = (rank + ranks - 1) % ranks;
  wrong += failed(comm, rondoGroupStart());
  wrong += failed(comm, rondoSend(output.data(), output.size(), rondoFloat32, (rank + 1) % ranks,
                                  comm, nullptr));
  wrong += failed(comm,
                  rondoRecv(received.data(), received.size(), rondoFloat32, before, comm, nullptr));
  wrong += failed(comm, rondoGroupEnd());
  std::ranges::fill(output, -1.0F);
  for (std::size_t at = 0; at < received.size(); ++at)
    wrong += received[at] == valueOf(before, at) ? 0 : 1;
  if (wrong > 0) std::fprintf(stderr, "rank %d round %d: %d wrong\n", rank, round, wrong);
  return wrong;
}

/// The kernel says that the adapters have the buffer; what they send out of it is spoiled as soon
/// as a call returns.
int useRegisteredBuffer(rondoComm_t comm, int rank, const Setting& setting) {
  std::vector<float> memory(3 * kBufferElems);
  const auto bufferKiB = static_cast<long>(memory.size() * sizeof(float) / 1024);
  const long before = lockedKiB();
  rondoRegistration_t registration = nullptr;
  int wrong = failed(
      comm, rondoCommRegister(comm, memory.data(), memory.size() * sizeof(float), &registration));
  const long locked = lockedKiB() - before;
  for (int round = 0; round < 4; ++round)
    wrong += sumAndPass(comm, rank, setting.ranks, round, memory);
  const long used = lockedKiB();
  wrong += failed(comm, rondoCommDeregister(comm, registration));
  const long released = used - lockedKiB();
  // Once for each adapter.
  if (locked < bufferKiB * setting.hosts.rails || released < bufferKiB * setting.hosts.rails) {
    std::fprintf(stderr, "rank %d: of %ld KiB %ld were locked, %ld released\n", rank, bufferKiB,
                 locked, released);
    ++wrong;
  }
  return wrong;
}

class RxeRegisteredBuffers : public ::testing::TestWithParam<Setting> {};

TEST_P(RxeRegisteredBuffers, AreSentFromWhereTheyAre) {
  run(GetParam(), "18", useRegisteredBuffer);
}

std::string nameOf(const ::testing::TestParamInfo<Setting>& param) {
  const auto& [ranks, hosts, rounds] = param.param;
  return fmt::format("{}_ranks_{}_hosts_{}_rails", ranks, hosts.hosts, hosts.rails);
}

/// For each number of ranks every algorithm once, and all collectives over 2 and over 4 devices.
INSTANTIATE_TEST_SUITE_P(Layouts,
                         RxeCollectives,
                         ::testing::Values(Setting{2, {2, 1}, {0, 1, 2}},
                                           Setting{4, {2, 1}, {0, 1, 2}},
                                           Setting{8, {2, 1}, {0, 1, 2}},
                                           Setting{2, {2, 2}, {3, 4}},
                                           Setting{4, {4, 1}, {3, 4}},
                                           Setting{8, {2, 2}, {3, 4}}),
                         nameOf);

INSTANTIATE_TEST_SUITE_P(Layouts,
                         RxeRegisteredBuffers,
                         ::testing::Values(Setting{2, {2, 1}, {}}, Setting{4, {2, 2}, {}}),
                         nameOf);

TEST(RxeCollectivesCover, EveryAlgorithm) {
  for (int collective = 0; collective < kCollectiveCount; ++collective)
    EXPECT_LE(algorithmsOf(static_cast<Collective>(collective)), 5U) << "needs one more round";
}

class RxeLoss : public ::testing::TestWithParam<Setting> {};

/// All collectives; algorithms take turns.
TEST_P(RxeLoss, LostPacketsAreRepeated) {
  const PacketLoss loss(GetParam().hosts.devices(), "0.5%");
  run(GetParam(), "16");  // 0.27 s, and what is lost last is only missed then
  RecordProperty("lost", static_cast<int>(loss.packets()));
  // Of 2 ranks' some 500 packets it may be none.
  if (GetParam().ranks > 2) {
    EXPECT_GT(loss.packets(), 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts,
                         RxeLoss,
                         ::testing::Values(Setting{2, {2, 1}, {0}},
                                           Setting{4, {2, 1}, {1}},
                                           Setting{8, {2, 1}, {2}},
                                           Setting{2, {2, 2}, {3}},
                                           Setting{4, {4, 1}, {4}},
                                           Setting{8, {2, 2}, {0}}),
                         nameOf);

}  // namespace
}  // namespace rondo::testing
