#include "tests/gpu_check/cases.h"

#include <algorithm>
#include <array>

#include "collectives/buffers.h"
#include "src/config.h"
#include "src/planner.h"

namespace rondo::gpucheck {

namespace {

/// Row `number` of each collective's algorithms; for collectives that have fewer, the last.
std::array<AlgorithmId, kCollectiveCount> algorithmSet(std::size_t number) {
  std::array<AlgorithmId, kCollectiveCount> set{};
  std::array<std::size_t, kCollectiveCount> seen{};
  for (std::size_t row = 0; row < kAlgorithmCount; ++row) {
    const auto at = static_cast<std::size_t>(AllSchedules::kInfos[row].collective);
    if (seen[at]++ <= number) set[at] = algorithmAt(row);
  }
  return set;
}

/// Whether the library has that algorithm for that reduction (docs/numerics.md).
bool isOffered(const perf::Case& what, int ranks) {
  PlanRequest request;
  request.collective = what.collective;
  request.count = what.count;
  request.type = what.type;
  if (isReduction(what.collective)) request.op = what.op;
  PlanSettings settings;
  if (what.algorithm) settings.rules = {{.algorithm = *what.algorithm}};
  return isReducible(what.type, what.op) &&
         makePlan(request, planFacts(ranks, 1, {}), settings).ok();
}

/// The call number `turn` of a kind: the turn decides what a call has besides what it is about.
CheckCall callOf(AlgorithmId algorithm,
                 DataType type,
                 ReduceOp op,
                 std::size_t bytes,
                 int ranks,
                 std::uint64_t turn) {
  const Collective collective = algorithmInfo(algorithm).collective;
  const std::size_t parts = mostBlocks(collective, ranks);
  CheckCall call;
  call.what.collective = collective;
  call.what.algorithm = algorithm;
  call.what.type = type;
  call.what.op = op;
  // Odd, so that no share of a rank or a channel is even with the others.
  call.what.count = (bytes / elementBytes(type) / parts) | 1U;
  if (bytes == kFewElements) call.what.count = 1 + turn % 3;
  if (collective == Collective::kBarrier) call.what.count = 0;
  call.what.root = hasRoot(collective) ? static_cast<int>(turn % static_cast<unsigned>(ranks)) : 0;
  call.placement = turn % 2 == 0 ? perf::Placement::kOutOfPlace : perf::Placement::kInPlace;
  call.sendShiftElems = turn % 3;
  call.recvShiftElems = turn % 5;
  call.seed = turn + 1;
  return call;
}

}  // namespace

std::size_t mostAlgorithms() {
  std::array<std::size_t, kCollectiveCount> seen{};
  for (const AlgorithmInfo& info : AllSchedules::kInfos)
    ++seen[static_cast<std::size_t>(info.collective)];
  return std::ranges::max(seen);
}

std::vector<AlgorithmId> newIn(std::size_t number) {
  std::vector<AlgorithmId> fresh;
  const auto before =
      number == 0 ? std::array<AlgorithmId, kCollectiveCount>{} : algorithmSet(number - 1);
  const auto set = algorithmSet(number);
  for (std::size_t at = 0; at < kCollectiveCount; ++at) {
    if (number == 0 || set[at] != before[at]) fresh.push_back(set[at]);
  }
  return fresh;
}

std::string algorithmsText(std::size_t number) {
  std::string text;
  for (const AlgorithmId id : algorithmSet(number)) {
    const AlgorithmInfo& info = algorithmInfo(id);
    text +=
        fmt::format("{}{}:{}", text.empty() ? "" : ",", collectiveName(info.collective), info.name);
  }
  return text;
}

std::vector<CheckCall> callsOf(AlgorithmId algorithm,
                               int ranks,
                               const std::vector<std::size_t>& sizes) {
  const Collective collective = algorithmInfo(algorithm).collective;
  if (collective == Collective::kBarrier)
    return {callOf(algorithm, DataType::kFloat32, ReduceOp::kSum, 0, ranks, 0)};
  std::vector<CheckCall> calls;
  // Steps of the turn that have nothing in common with its periods above.
  constexpr std::uint64_t kStride = 7;
  std::uint64_t turn = 0;
  for (const std::size_t bytes : sizes) {
    ++turn;  // types and reductions together are even: another placement with each size
    for (int op = 0; op < (isReduction(collective) ? kReduceOpCount : 1); ++op) {
      for (int type = 0; type < kDataTypeCount; ++type) {
        CheckCall call = callOf(algorithm, static_cast<DataType>(type), static_cast<ReduceOp>(op),
                                bytes, ranks, turn += kStride);
        if (!isReduction(collective) || isOffered(call.what, ranks)) calls.push_back(call);
      }
    }
  }
  return calls;
}

std::vector<CheckCall> smokeCalls(int ranks, const std::vector<std::size_t>& sizes) {
  std::vector<CheckCall> calls;
  std::uint64_t turn = 0;
  for (const std::size_t bytes : sizes) {
    for (const AlgorithmId algorithm : newIn(0)) {
      CheckCall call = callOf(algorithm, DataType::kFloat32, ReduceOp::kSum, bytes, ranks, ++turn);
      call.what.algorithm.reset();
      calls.push_back(call);
    }
  }
  return calls;
}

}  // namespace rondo::gpucheck
