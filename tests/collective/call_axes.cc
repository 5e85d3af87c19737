#include "tests/collective/call_axes.h"

#include <algorithm>
#include <array>
#include <string>

namespace rondo::testing {

namespace {

constexpr std::array<int, 5> kRankCounts = {1, 2, 3, 5, 8};
constexpr std::array<std::size_t, 4> kChunkBytes = {0, 64, 576, 4096};
constexpr std::array<int, 3> kSlotCounts = {0, 2, 9};
constexpr std::array<int, 4> kChannelCounts = {0, 1, 2, 5};

enum RootClass { kFirst, kLast, kMiddle };

/// In elements; `chunk` is what one slot carries, `loop` a chunk for each channel and, where ranks
/// share out the vector, for each rank.
constexpr const char* kSizes[] = {"0",      "1",      "ranks-1", "ranks+1",   "37",
                                  "line-1", "line+1", "chunk-1", "chunk",     "chunk+1",
                                  "loop-1", "loop",   "loop+1",  "2loops+37", "3loops"};

constexpr const char* kShifts[] = {"aligned", "send+1", "recv+1", "send+3,recv+5"};

template <class Values>
std::vector<std::string> texts(const Values& values) {
  std::vector<std::string> all;
  for (const auto value : values)
    all.push_back(value == 0 ? "default" : std::to_string(value));
  return all;
}

AlgorithmId algorithmIn(const Row& row) {
  return algorithmAt(static_cast<std::size_t>(row[kAlgorithm]));
}

const AlgorithmInfo& infoIn(const Row& row) {
  return algorithmInfo(algorithmIn(row));
}

DataType typeIn(const Row& row) {
  return static_cast<DataType>(row[kType]);
}

ReduceOp opIn(const Row& row) {
  return static_cast<ReduceOp>(row[kOp]);
}

int ranksIn(const Row& row) {
  return kRankCounts[static_cast<std::size_t>(row[kRanks])];
}

std::vector<Axis> makeAxes() {
  std::vector<Axis> axes(kCallAxes);
  axes[kAlgorithm].name = "algorithm";
  // Without hosts there are no two levels.
  const bool several = !hostsOfRanks(1).empty();
  for (std::size_t row = 0; row < (several ? kAllAlgorithmCount : kAlgorithmCount); ++row) {
    const AlgorithmInfo& info = algorithmInfo(algorithmAt(row));
    axes[kAlgorithm].values.push_back(std::string(collectiveName(info.collective)) + '/' +
                                      std::string(info.name));
  }
  axes[kType].name = "type";
  for (int type = 0; type < kDataTypeCount; ++type)
    axes[kType].values.emplace_back(dataTypeName(static_cast<DataType>(type)));
  axes[kOp].name = "op";
  for (int op = 0; op < kReduceOpCount; ++op)
    axes[kOp].values.emplace_back(reduceOpName(static_cast<ReduceOp>(op)));
  axes[kRanks] = {"ranks", texts(kRankCounts)};
  axes[kRoot] = {"root", {"first", "last", "middle"}};
  axes[kReproducible] = {"reproducible", {"no", "yes"}};
  axes[kSize] = {"size", {std::begin(kSizes), std::end(kSizes)}};
  axes[kPlacement] = {"placement", {"apart", "inplace"}};
  axes[kShift] = {"shift", {std::begin(kShifts), std::end(kShifts)}};
  axes[kChunk] = {"chunk", texts(kChunkBytes)};
  axes[kSlots] = {"slots", texts(kSlotCounts)};
  axes[kChannels] = {"channels", texts(kChannelCounts)};
  axes[kInputs].name = "inputs";
  for (int kind = 0; kind < kInputKindCount; ++kind)
    axes[kInputs].values.emplace_back(inputKindName(static_cast<InputKind>(kind)));
  return axes;
}

/// docs/numerics.md: what a sum rounded at each hop may not be used for.
bool hopsMayRound(DataType type, ReduceOp op) {
  const bool selects = op == ReduceOp::kMin || op == ReduceOp::kMax;
  if (selects || type == DataType::kBool) return true;
  const bool is64Bit = elementBytes(type) == 8 || type == DataType::kFloat32;
  if (op == ReduceOp::kAvg) return is64Bit;
  return !isFp8(type);
}

/// Whether ranks are so spread over hosts that an algorithm of two levels can be used.
bool fitsHosts(AlgorithmId algorithm, int ranks) {
  if (!isTwoLevel(algorithm)) return true;
  const HostMap hosts(hostsOfRanks(ranks));
  const bool anyShape = algorithmInfo(algorithm).collective == Collective::kAllReduce;
  return hosts.hosts() > 1 && hosts.most() > 1 && (anyShape || hosts.even());
}

bool bitsDependOnOrder(DataType type, ReduceOp op) {
  return isFloat(type) && op != ReduceOp::kMin && op != ReduceOp::kMax;
}

std::vector<Rule> makeRules() {
  const auto reduces = [](const Row& row) { return isReduction(infoIn(row).collective); };
  std::vector<Rule> rules;
  rules.push_back({{kAlgorithm, kOp},
                   [=](const Row& row) { return reduces(row) || opIn(row) == ReduceOp::kSum; }});
  rules.push_back({{kAlgorithm, kRanks},
                   [](const Row& row) { return fitsHosts(algorithmIn(row), ranksIn(row)); }});
  rules.push_back({{kAlgorithm, kRoot}, [](const Row& row) {
                     return hasRoot(infoIn(row).collective) || row[kRoot] == kFirst;
                   }});
  rules.push_back({{kRoot, kRanks}, [](const Row& row) {
                     const int least = row[kRoot] == kFirst ? 1 : row[kRoot] == kLast ? 2 : 3;
                     return ranksIn(row) >= least;
                   }});
  rules.push_back({{kAlgorithm, kType, kOp}, [=](const Row& row) {
                     if (!reduces(row)) return true;
                     const bool refused = infoIn(row).order == FoldOrder::kHopRounded &&
                                          !hopsMayRound(typeIn(row), opIn(row));
                     return !refused && isReducible(typeIn(row), opIn(row));
                   }});
  rules.push_back({{kAlgorithm, kType, kOp, kReproducible}, [=](const Row& row) {
                     return row[kReproducible] == 0 || !reduces(row) ||
                            infoIn(row).order != FoldOrder::kHopRounded ||
                            !bitsDependOnOrder(typeIn(row), opIn(row));
                   }});
  // The barrier has no data.
  for (const CallAxis axis : {kType, kSize, kPlacement, kShift, kInputs}) {
    rules.push_back({{kAlgorithm, axis}, [axis](const Row& row) {
                       return infoIn(row).collective != Collective::kBarrier || row[axis] == 0;
                     }});
  }
  return rules;
}

/// @param chunk elements in one slot
std::size_t countOf(int sizeClass, std::size_t chunk, const Plan& plan, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  const bool shared = algorithmInfo(plan.algorithm).collective == Collective::kAllReduce;
  const std::size_t loop = chunk * (shared ? n : 1) * static_cast<std::size_t>(plan.channels);
  const std::size_t counts[] = {
      0,     1,         n - 1,    n + 1, 37,       plan.grain - 1, plan.grain + 1, chunk - 1,
      chunk, chunk + 1, loop - 1, loop,  loop + 1, 2 * loop + 37,  3 * loop};
  static_assert(std::size(counts) == std::size(kSizes));
  return counts[sizeClass];
}

}  // namespace

const CoveringModel& callModel() {
  static const CoveringModel model{makeAxes(),
                                   makeRules(),
                                   {{kAlgorithm, kType, kOp},
                                    {kAlgorithm, kRanks, kSize},
                                    {kAlgorithm, kChunk, kSize},
                                    {kAlgorithm, kRanks, kRoot},
                                    {kAlgorithm, kRanks, kPlacement},
                                    {kAlgorithm, kRanks, kChannels},
                                    {kAlgorithm, kSlots, kChunk},
                                    {kAlgorithm, kSlots, kRanks},
                                    {kAlgorithm, kOp, kRanks},
                                    {kAlgorithm, kType, kSize},
                                    {kType, kOp, kInputs},
                                    {kType, kPlacement, kShift}}};
  return model;
}

CommunicatorSettings settingsOf(const Row& row) {
  CommunicatorSettings settings;
  settings.ranks = ranksIn(row);
  settings.algorithm = forcedBy(algorithmIn(row));
  settings.reproducible = row[kReproducible] != 0;
  settings.chunkBytes = kChunkBytes[static_cast<std::size_t>(row[kChunk])];
  settings.slots = kSlotCounts[static_cast<std::size_t>(row[kSlots])];
  settings.channels = kChannelCounts[static_cast<std::size_t>(row[kChannels])];
  return settings;
}

CallSpec callOf(const Row& row, const Communicators& communicators, std::uint64_t seed) {
  const int ranks = communicators.ranks();
  CallSpec spec;
  spec.collective = infoIn(row).collective;
  spec.type = typeIn(row);
  spec.op = opIn(row);
  spec.root = row[kRoot] == kFirst ? 0 : row[kRoot] == kLast ? ranks - 1 : ranks / 2;
  spec.inPlace = row[kPlacement] != 0;
  spec.inputs = static_cast<InputKind>(row[kInputs]);
  spec.seed = seed;
  const std::size_t elemBytes = elementBytes(spec.type);
  spec.sendShift = elemBytes * (row[kShift] == 1 ? 1 : row[kShift] == 3 ? 3 : 0);
  spec.recvShift = elemBytes * (row[kShift] == 2 ? 1 : row[kShift] == 3 ? 5 : 0);
  if (spec.collective == Collective::kBarrier) return spec;
  // The chunk depends on the size a little: take that of a size with several chunks.
  spec.count = 1;
  const Result<Plan> plan = communicators.plan(spec.request());
  if (!plan.ok()) return spec;
  spec.count = countOf(row[kSize], std::max<std::size_t>(plan->chunkElems, 1), *plan, ranks);
  return spec;
}

}  // namespace rondo::testing
