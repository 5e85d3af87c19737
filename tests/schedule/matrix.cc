#include "tests/schedule/matrix.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace rondo::verifier {
namespace {

/// Up to here every shape runs with every number of slots.
constexpr int kRanksAtEveryDepth = 12;

/// Chains and trees have lags that grow with the ranks, and few connections: many loops are needed
/// to fill the pipeline, and cost little.
std::size_t manyLoops(const AlgorithmInfo& info, std::size_t ranks) {
  return info.name == "chain" || info.name == "tree" ? 2 * ranks + 3 : 5;
}

/// Chunks that one loop handles.
std::size_t chunksPerLoop(const AlgorithmInfo& info, std::size_t ranks) {
  const bool parted = info.name == "ring" || info.name == "two_shot";
  return parted && info.collective == Collective::kAllReduce ? ranks : 1;
}

/// Adds a call on `elems` elements with `offset` elements before them and `pad` behind.
class CallList {
 public:
  explicit CallList(const Call& common, std::size_t leastChunk)
      : common_(common), leastChunk_(leastChunk) {}

  void add(std::size_t elems,
           std::size_t chunk,
           std::size_t grain,
           std::size_t offset,
           std::size_t pad) {
    Call call = common_;
    call.share = {offset, elems};
    call.bufferElems = offset + elems + pad;
    call.chunkElems = ceilDiv(maxOf(chunk, leastChunk_), grain) * grain;
    call.grain = grain;
    calls_.push_back(call);
  }

  std::vector<Call> take() { return std::move(calls_); }

 private:
  Call common_;
  std::size_t leastChunk_;
  std::vector<Call> calls_;
};

bool usesChannel(const AlgorithmInfo& info) {
  return info.naturalChannels > 1;
}

}  // namespace

std::vector<AlgorithmId> algorithmsOf(Collective collective) {
  std::vector<AlgorithmId> found;
  for (std::size_t row = 0; row < kAlgorithmCount; ++row) {
    if (algorithmInfo(algorithmAt(row)).collective == collective) found.push_back(algorithmAt(row));
  }
  return found;
}

std::string algorithmTestName(AlgorithmId algorithm) {
  const AlgorithmInfo& info = algorithmInfo(algorithm);
  return joined(collectiveName(info.collective), "_", info.name);
}

std::vector<Call> callsOfAllShapes(AlgorithmId algorithm, int ranks, int root, bool inPlace) {
  const AlgorithmInfo& info = algorithmInfo(algorithm);
  Call common;
  common.algorithm = algorithm;
  common.root = root;
  common.inPlace = inPlace;
  const auto n = static_cast<std::size_t>(ranks);
  const std::size_t leastChunk = info.name == "log_tree" ? maxOf(n / 2, 1) : 1;
  if (info.collective == Collective::kBarrier) return {common};
  const std::size_t parts = chunksPerLoop(info, n);
  const std::size_t loops = manyLoops(info, n);
  CallList calls(common, leastChunk);
  // With a block per rank, sizes near n are nothing special, and cost n^3 elements.
  const bool nearRanks = mostBlocks(info.collective, ranks) == 1 || ranks <= 16;
  calls.add(0, 3, 1, 0, 0);
  calls.add(0, 3, 1, 2, 1);
  calls.add(1, 3, 1, 2, 1);
  if (nearRanks) calls.add(n - 1, 3, 1, 0, 0);
  if (nearRanks) calls.add(n, 3, 1, 5, 3);
  if (nearRanks) calls.add(n + 1, 1, 1, 0, 2);
  calls.add(loops * parts + parts / 2, 1, 1, 1, 0);      // last loop of the parted ones ragged
  calls.add(2 * parts * 3 + parts + 1, 3, 1, 3, 4);      // last chunks shorter
  calls.add(2 * parts * 8 + parts * 4 + 3, 8, 4, 4, 2);  // last grain cut off
  if (leastChunk > 1) calls.add(7, n, 1, 1, 1);          // two columns per loop
  std::vector<Call> all = calls.take();
  if (usesChannel(info)) {
    std::vector<Call> twins = all;
    for (Call& twin : twins)
      twin.channel = 1;
    all.insert(all.end(), twins.begin(), twins.end());
  }
  return all;
}

std::vector<int> rootsToTry(AlgorithmId algorithm, int ranks) {
  if (!hasRoot(algorithmInfo(algorithm).collective)) return {0};
  std::set<int> roots{0, 1 % ranks, ranks / 2, ranks - 1};
  for (int root = 0; ranks <= 8 && root < ranks; ++root)
    roots.insert(root);
  return {roots.begin(), roots.end()};
}

std::size_t verifyAllShapes(AlgorithmId algorithm, int ranks) {
  std::size_t runs = 0;
  std::vector<std::size_t> depths{2, 3, 8};
  if (algorithmInfo(algorithm).minSlots == 1) depths.insert(depths.begin(), 1);
  // Depth does not change what a schedule does: many ranks try one depth per shape, in turn, but
  // the least one always.
  const std::size_t stride = ranks <= kRanksAtEveryDepth ? 1 : depths.size();
  for (const int root : rootsToTry(algorithm, ranks)) {
    for (const bool inPlace : {false, true}) {
      for (const Call& call : callsOfAllShapes(algorithm, ranks, root, inPlace)) {
        for (std::size_t i = inPlace ? runs % stride : 0; i < depths.size(); i += stride) {
          const std::uint64_t order = ++runs % 2 == 0 ? runs : 0;
          const Setup setup{.ranks = ranks, .slots = depths[i], .order = order};
          const Report report = verify(setup, {&call, 1});
          EXPECT_TRUE(report.ok()) << report.text() << "\n  " << call.text() << ", " << ranks
                                   << " ranks, " << setup.slots << " slots, order " << order;
          if (!report.ok()) return runs;
        }
      }
    }
  }
  return runs;
}

std::string verifyLeftPayloads(AlgorithmId algorithm, int ranks, bool inputAlways) {
  const auto least = static_cast<std::size_t>(algorithmInfo(algorithm).minSlots);
  for (const int root : rootsToTry(algorithm, ranks)) {
    for (const bool inPlace : {false, true}) {
      for (const Call& call : callsOfAllShapes(algorithm, ranks, root, inPlace)) {
        for (int run = 0; run < 2 * ranks; ++run) {
          Setup setup{.ranks = ranks, .slots = run % 2 == 0 ? least : 8, .leavesPayloads = true};
          setup.laziest = run / 2;
          if (inputAlways) setup.fault = ExecutorFault::kTakeInputForStable;
          const Report report = verify(setup, {&call, 1});
          if (!report.ok()) {
            return joined(report.text(), "\n  ", call.text(), ", ", ranks, " ranks, ", setup.slots,
                          " slots, laziest ", setup.laziest);
          }
        }
      }
    }
  }
  return "";
}

}  // namespace rondo::verifier
