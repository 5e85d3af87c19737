// The kernels on the emulator under every pair of circumstances, and every algorithm with all
// protocols, all types and all reductions. To run one case again:
//     RONDOTEST_CASE=<number> cuda_kernels_matrix_test
#include <array>
#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>

#include "tests/collective/covering_array.h"
#include "tests/cuda/device_checks.h"

namespace rondo::testing {
namespace {

using device::kProtocols;
using device::Protocol;
using device::protocolName;

constexpr std::uint64_t kSeed = 20240229;

enum AxisIndex : std::size_t {
  kAlgorithm,
  kProtocol,
  kType,
  kOp,
  kRanks,
  kChannels,
  kSize,
  kPlacement,
  kShift,
  kSlots,
  kSlotBytes,
  kRoot,
  kThreads,
  kLaunches,
  kSchedule,
  kAxes
};

/// In elements: a pack is 16 bytes, a chunk what one slot carries, a loop a chunk for each channel
/// and rank.
constexpr const char* kSizes[] = {"0",     "1",       "pack-1", "pack+1", "chunk-1",
                                  "chunk", "chunk+1", "loop-1", "loop+1", "2loops+5"};
constexpr std::uint32_t kSlotCounts[] = {2, 3, 8};
constexpr std::size_t kSlotSizes[] = {128, 320};
constexpr unsigned kThreadCounts[] = {32, 64};

template <class Values>
std::vector<std::string> texts(const Values& values) {
  std::vector<std::string> all;
  for (const auto value : values)
    all.push_back(fmt::format("{}", value));
  return all;
}

std::vector<Axis> makeAxes() {
  std::vector<Axis> axes(kAxes);
  axes[kAlgorithm].name = "algorithm";
  for (const AlgorithmInfo& info : AllSchedules::kInfos)
    axes[kAlgorithm].values.push_back(
        fmt::format("{}/{}", collectiveName(info.collective), info.name));
  axes[kProtocol].name = "protocol";
  for (const Protocol protocol : kProtocols)
    axes[kProtocol].values.emplace_back(protocolName(protocol));
  axes[kType].name = "type";
  for (int type = 0; type < kDataTypeCount; ++type)
    axes[kType].values.emplace_back(dataTypeName(static_cast<DataType>(type)));
  axes[kOp].name = "op";
  for (int op = 0; op < kReduceOpCount; ++op)
    axes[kOp].values.emplace_back(reduceOpName(static_cast<ReduceOp>(op)));
  axes[kRanks] = {"ranks", texts(std::array{1, 2, 3, 4, 5, 6, 7, 8})};
  axes[kChannels] = {"channels", texts(std::array{1, 2, 3, 4})};
  axes[kSize] = {"size", texts(kSizes)};
  axes[kPlacement] = {"placement", {"apart", "inplace"}};
  axes[kShift] = {"shift", texts(std::array{0, 1, 3})};
  axes[kSlots] = {"slots", texts(kSlotCounts)};
  axes[kSlotBytes] = {"slotbytes", texts(kSlotSizes)};
  axes[kRoot] = {"root", {"first", "last"}};
  axes[kThreads] = {"threads", texts(kThreadCounts)};
  axes[kLaunches] = {"launches", {"each", "one"}};
  axes[kSchedule] = {"schedule", {"inturn", "random", "torn"}};
  return axes;
}

template <class Values>
auto valueIn(const Values& values, const Row& row, AxisIndex axis) {
  return values[static_cast<std::size_t>(row[axis])];
}

std::size_t countIn(const Row& row, const OperationShape& shape) {
  const std::size_t elemBytes = elementBytes(shape.type);
  const std::size_t pack = sizeof(device::Pack) / elemBytes;
  const std::size_t chunk = shape.slotBytes / elemBytes;
  const std::size_t loop = chunk * static_cast<std::size_t>(shape.ranks * shape.channels);
  const std::size_t counts[] = {0,     1,         pack - 1, pack + 1, chunk - 1,
                                chunk, chunk + 1, loop - 1, loop + 1, 2 * loop + 5};
  return counts[row[kSize]];
}

OperationShape shapeOf(const Row& row) {
  OperationShape shape;
  shape.algorithm = algorithmAt(static_cast<std::size_t>(row[kAlgorithm]));
  shape.protocol = valueIn(kProtocols, row, kProtocol);
  shape.type = static_cast<DataType>(row[kType]);
  shape.op = static_cast<ReduceOp>(row[kOp]);
  shape.ranks = row[kRanks] + 1;
  shape.channels = row[kChannels] + 1;
  shape.inPlace = row[kPlacement] == 1;
  shape.shiftElems = row[kShift] == 2 ? 3 : static_cast<std::size_t>(row[kShift]);
  shape.slotCount = valueIn(kSlotCounts, row, kSlots);
  shape.slotBytes = valueIn(kSlotSizes, row, kSlotBytes);
  shape.root = row[kRoot] == 0 ? 0 : shape.ranks - 1;
  shape.count = countIn(row, shape);
  return shape;
}

emulator::Options optionsOf(const Row& row, std::uint64_t seed) {
  emulator::Options options;
  options.seed = seed;
  if (row[kSchedule] != 0) options.schedule = emulator::Schedule::kRandom;
  options.tearPacks = row[kSchedule] == 2;
  return options;
}

const AlgorithmInfo& infoIn(const Row& row) {
  return algorithmInfo(algorithmAt(static_cast<std::size_t>(row[kAlgorithm])));
}

/// Whether the planner takes such an operation, which depends on these axes only.
bool plannerTakes(const Row& row) {
  Row whole(kAxes, 0);
  for (const AxisIndex axis : {kAlgorithm, kType, kOp})
    whole[axis] = row[axis];
  whole[kRanks] = 3;
  return legal(shapeOf(whole));
}

bool protocolTakes(const Row& row) {
  Row whole(kAxes, 0);
  for (const AxisIndex axis : {kProtocol, kType, kOp})
    whole[axis] = row[axis];
  const OperationShape shape = shapeOf(whole);
  return shape.protocol == Protocol::kStaged || device::reducesInLines(shape.type, shape.op);
}

const CoveringModel& model() {
  static const CoveringModel kModel = {
      .axes = makeAxes(),
      .rules =
          {
              {.axes = {kAlgorithm, kType, kSize},
               .allows =
                   [](const Row& row) {
                     return infoIn(row).collective != Collective::kBarrier ||
                            (row[kType] == 0 && row[kSize] == 0);
                   }},
              {.axes = {kAlgorithm, kOp},
               .allows =
                   [](const Row& row) {
                     return isReduction(infoIn(row).collective) || row[kOp] == 0;
                   }},
              {.axes = {kAlgorithm, kRoot},
               .allows =
                   [](const Row& row) {
                     return hasRoot(infoIn(row).collective) || row[kRoot] == 0;
                   }},
              {.axes = {kProtocol, kSize},
               .allows = [](const Row& row) { return row[kProtocol] == 0 || row[kSize] != 0; }},
              {.axes = {kAlgorithm, kProtocol},
               .allows =
                   [](const Row& row) {
                     return row[kProtocol] == 0 || infoIn(row).collective != Collective::kBarrier;
                   }},
              {.axes = {kAlgorithm, kType, kOp}, .allows = plannerTakes},
              {.axes = {kProtocol, kType, kOp}, .allows = protocolTakes},
          },
      .sets = {{kAlgorithm, kProtocol, kType, kOp}},
  };
  return kModel;
}

const std::vector<Row>& cases() {
  static const std::vector<Row> kRows = makeCoveringArray(model(), kSeed);
  return kRows;
}

void runCase(std::size_t number) {
  const Row& row = cases().at(number);
  const OperationShape shape = shapeOf(row);
  ASSERT_TRUE(legal(shape)) << describeRow(model(), row);
  DeviceShape ranks = deviceShape(shape);
  ranks.threads = valueIn(kThreadCounts, row, kThreads);
  ranks.oneLaunch = row[kLaunches] == 1;
  ASSERT_EQ(runOnce(shape, ranks, optionsOf(row, number + 1)), "")
      << "case " << number << ": " << describeRow(model(), row);
}

TEST(KernelMatrix, CoversEveryPairAndEveryLoop) {
  if (kThinning > 1) GTEST_SKIP() << "counting needs no sanitizer";
  const Coverage pairs = measurePairs(model(), cases());
  const Coverage loops = measureSets(model(), cases());
  std::cout << cases().size() << " cases cover " << pairs.covered << " of " << pairs.possible
            << " pairs and " << loops.covered << " of " << loops.possible
            << " loops: algorithm, protocol, type, reduction\n";
  EXPECT_EQ(pairs.covered, pairs.possible);
  EXPECT_EQ(loops.covered, loops.possible);
}

TEST(KernelMatrix, EveryCaseGivesTheBitsOfTheHost) {
  const char* const only = std::getenv("RONDOTEST_CASE");  // NOLINT(concurrency-mt-unsafe)
  if (only != nullptr) {
    runCase(static_cast<std::size_t>(std::atoll(only)));
    return;
  }
  for (std::size_t number = 0; number < cases().size(); number += kThinning) {
    runCase(number);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace rondo::testing
