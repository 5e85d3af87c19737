// Same inputs, same bits: on all ranks, in every repeat, in every process, and in reproducible mode
// whatever the size, the settings and the algorithm.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/collective/communicators.h"
#include "tests/collective/prepared_call.h"

namespace rondo::testing {
namespace {

constexpr const char* kChildVariable = "RONDOTEST_PRINT_HASHES";
constexpr int kRanks = 4;
constexpr int kRepeats = 50;
constexpr int kProcesses = 5;

/// A checksum of whole words, fast enough for a gigabyte.
std::uint64_t hashOf(std::span<const std::byte> bytes) {
  std::uint64_t hash = bytes.size();
  for (std::size_t at = 0; at + sizeof(hash) <= bytes.size(); at += sizeof(hash)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
  }
  return hash;
}

std::vector<AlgorithmId> reductions() {
  std::vector<AlgorithmId> ids;
  for (std::size_t row = 0; row < kAlgorithmCount; ++row) {
    if (isReduction(algorithmInfo(algorithmAt(row)).collective)) ids.push_back(algorithmAt(row));
  }
  return ids;
}

CallSpec largeSum(AlgorithmId algorithm, DataType type) {
  CallSpec spec;
  spec.collective = algorithmInfo(algorithm).collective;
  spec.type = type;
  spec.count = spec.collective == Collective::kReduceScatter ? 250000 : 1000000;
  return spec;
}

/// Four million elements take longer to make than to add, so they are made once.
const std::vector<Bytes>& inputsOf(DataType type) {
  static std::map<DataType, std::vector<Bytes>> inputs;
  std::vector<Bytes>& all = inputs[type];
  for (std::uint64_t rank = 0; all.size() < kRanks; ++rank)
    all.push_back(makeInput(type, InputKind::kOrdinary, 1000000, rank));
  return all;
}

/// The hash of all ranks' results; the tests of repeats verify what they are.
std::uint64_t hashOfSum(AlgorithmId algorithm, DataType type) {
  const Communicators communicators({.ranks = kRanks, .algorithm = forcedBy(algorithm)});
  CallSpec spec = largeSum(algorithm, type);
  spec.expectsResults = false;
  PreparedCall call(spec, communicators, inputsOf(type));
  EXPECT_TRUE(RankTeam::shared().run(
      kRanks, [&](int rank) { call.execute(rank); }, [&] { communicators.abort(); }));
  std::uint64_t hash = 0;
  for (int rank = 0; rank < kRanks; ++rank)
    EXPECT_EQ(call.result(rank), rondoSuccess);
  for (int rank = 0; rank < kRanks; ++rank)
    hash = scramble(hash ^ hashOf(call.output(rank)));
  return hash;
}

class Repeats : public ::testing::TestWithParam<std::size_t> {};

/// Every repeat is verified against the same reference bits, which is more than equal hashes.
TEST_P(Repeats, R07FiftyTimesTheSameBitsOnAllRanks) {
  const AlgorithmId algorithm = reductions()[GetParam()];
  const Communicators communicators({.ranks = kRanks, .algorithm = forcedBy(algorithm)});
  for (const DataType type : {DataType::kFloat32, DataType::kBfloat16, DataType::kFloat16}) {
    PreparedCall call(largeSum(algorithm, type), communicators);
    std::array<std::uint64_t, kRanks> first{};
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      // A different history of allocations.
      for (int other = 0; repeat % 10 == 0 && other < 3; ++other) {
        const Communicators more({.ranks = kRanks, .channels = other + 1});
        EXPECT_EQ(runAndVerify({.count = 1000}, more), "");
      }
      ASSERT_TRUE(RankTeam::shared().run(
          kRanks, [&](int rank) { call.execute(rank); }, [&] { communicators.abort(); }));
      ASSERT_EQ(repeat == 0 ? call.verify() : "", "");
      for (int rank = 0; rank < kRanks; ++rank) {
        std::uint64_t& wanted = first[static_cast<std::size_t>(rank)];
        const std::uint64_t sum = hashOf(call.output(rank));
        if (repeat == 0) wanted = sum;
        ASSERT_EQ(sum, wanted) << "repeat " << repeat << " rank " << rank;
      }
    }
  }
}

std::string nameOf(const ::testing::TestParamInfo<std::size_t>& param) {
  const AlgorithmInfo& info = algorithmInfo(reductions()[param.param]);
  return std::string(collectiveName(info.collective)) + "_" + std::string(info.name);
}

INSTANTIATE_TEST_SUITE_P(Algorithms,
                         Repeats,
                         ::testing::Range(std::size_t{0}, reductions().size()),
                         nameOf);

std::string hashLine(AlgorithmId algorithm, DataType type) {
  std::array<char, 96> line{};
  std::snprintf(line.data(), line.size(), "hash %s %s %016llx\n", forcedBy(algorithm).c_str(),
                std::string(dataTypeName(type)).c_str(),
                static_cast<unsigned long long>(hashOfSum(algorithm, type)));
  return line.data();
}

std::string allHashes() {
  std::string lines;
  for (const AlgorithmId algorithm : reductions()) {
    for (const DataType type : {DataType::kFloat32, DataType::kBfloat16, DataType::kFloat16})
      lines += hashLine(algorithm, type);
  }
  return lines;
}

/// What a fresh process of this program prints; see kChildVariable.
std::string hashesOfFreshProcess() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (length <= 0) return "no /proc/self/exe";
  const std::string command = std::string(kChildVariable) + "=1 '" + path.data() +
                              "' --gtest_filter=FreshProcess.PrintsItsHashes";
  FILE* const output = popen(command.c_str(), "r");  // NOLINT(cert-env33-c): our own program
  if (output == nullptr) return "popen failed";
  std::string hashes;
  std::array<char, 256> line{};
  while (std::fgets(line.data(), static_cast<int>(line.size()), output) != nullptr) {
    if (std::string(line.data()).starts_with("hash ")) hashes += line.data();
  }
  pclose(output);
  return hashes;
}

TEST(FreshProcess, PrintsItsHashes) {
  if (std::getenv(kChildVariable) == nullptr) {  // NOLINT(concurrency-mt-unsafe)
    GTEST_SKIP() << "runs as the child of FreshProcess.R07GivesTheSameBits";
  }
  std::cout << '\n' << allHashes() << std::flush;
}

TEST(FreshProcess, R07GivesTheSameBits) {
  const std::string own = allHashes();
  for (int process = 0; process < kProcesses; ++process)
    EXPECT_EQ(hashesOfFreshProcess(), own) << "process " << process;
}

/// What a communicator of these settings makes of `inputs`, cut into calls of `piece` elements.
Bytes sumInPieces(const CommunicatorSettings& settings,
                  const CallSpec& spec,
                  const std::vector<Bytes>& inputs,
                  std::size_t piece) {
  const Communicators communicators(settings);
  const std::size_t elemBytes = elementBytes(spec.type);
  Bytes sum;
  for (std::size_t begin = 0; begin < spec.count; begin += piece) {
    CallSpec part = spec;
    part.count = std::min(piece, spec.count - begin);
    std::vector<Bytes> parts;
    for (const Bytes& input : inputs) {
      const auto at = input.begin() + static_cast<std::ptrdiff_t>(begin * elemBytes);
      parts.emplace_back(at, at + static_cast<std::ptrdiff_t>(part.count * elemBytes));
    }
    PreparedCall call(part, communicators, parts);
    EXPECT_TRUE(RankTeam::shared().run(
        settings.ranks, [&](int rank) { call.execute(rank); }, [&] { communicators.abort(); }));
    EXPECT_EQ(call.verify(), "");
    const std::span<const std::byte> output = call.output(0);
    sum.insert(sum.end(), output.begin(), output.end());
  }
  return sum;
}

std::vector<CommunicatorSettings> reproducibleSettings() {
  std::vector<CommunicatorSettings> all;
  for (const char* const algorithm :
       {"", "all_reduce:one_shot", "all_reduce:two_shot", "all_reduce:chain"}) {
    for (const int channels : {0, 3}) {
      for (const std::size_t chunkBytes : {0U, 64U, 1024U}) {
        CommunicatorSettings settings{.ranks = 5, .algorithm = algorithm, .reproducible = true};
        settings.channels = channels;
        settings.chunkBytes = chunkBytes;
        all.push_back(settings);
      }
    }
  }
  return all;
}

TEST(Reproducible, BitsDependOnTheInputsAndTheNumberOfRanksAlone) {
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16, DataType::kFloat32,
                              DataType::kFloat64, DataType::kFloat8E4m3}) {
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kAvg}) {
      CallSpec spec{.type = type, .op = op, .count = 10007};
      std::vector<Bytes> inputs;
      for (std::uint64_t rank = 0; rank < 5; ++rank)
        inputs.push_back(makeInput(type, InputKind::kOrdinary, spec.count, rank));
      Bytes wanted;
      for (const CommunicatorSettings& settings : reproducibleSettings()) {
        for (const std::size_t piece : {std::size_t{10007}, std::size_t{1501}}) {
          const Bytes sum = sumInPieces(settings, spec, inputs, piece);
          if (wanted.empty()) wanted = sum;
          ASSERT_EQ(describeDifference(type, false, wanted, sum), "")
              << settings.algorithm << " channels " << settings.channels << " chunk bytes "
              << settings.chunkBytes << " piece " << piece << " " << spec.text();
        }
      }
    }
  }
}

}  // namespace
}  // namespace rondo::testing
