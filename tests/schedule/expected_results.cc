#include "tests/schedule/expected_results.h"

#include "collectives/partition.h"

namespace rondo::verifier {
namespace {

bool orderKnown(const AlgorithmInfo& info) {
  if (info.order != FoldOrder::kHopRounded) return true;
  if (info.name == "ring" || info.name == "tree") return true;
  return info.collective == Collective::kReduceScatter && info.name == "log_tree";
}

/// The part of the ring's loop that each element of the share lies in, which is its owner's rank.
std::vector<int> ringOwners(const Call& call, int ranks) {
  std::vector<int> owners(call.share.elems);
  const auto parts = static_cast<std::size_t>(ranks);
  const LoopPartition partition({0, call.share.elems}, parts, call.chunkElems, call.grain);
  for (std::size_t loop = 0; loop < partition.loops(); ++loop) {
    for (std::size_t part = 0; part < parts; ++part) {
      const Span chunk = partition.chunk(loop, part);
      for (std::size_t i = 0; i < chunk.elems; ++i)
        owners[chunk.offset + i] = static_cast<int>(part);
    }
  }
  return owners;
}

}  // namespace

ExpectedResults::ExpectedResults(const Call& call, std::size_t callIndex, int ranks)
    : call_(call), callIndex_(callIndex), ranks_(ranks), known_(orderKnown(call.info())) {
  if (call.collective() != Collective::kAllReduce) return;
  sums_.resize(call.share.elems);
  if (call.info().name == "ring") owners_ = ringOwners(call, ranks);
}

std::size_t ExpectedResults::element(int rank, std::size_t at) const {
  const BufferExtents buffers = buffersOf(call_.collective());
  const std::size_t inBlock = holdsBlocks(buffers.output) ? at % call_.bufferElems : at;
  const std::size_t block = holdsBlocks(buffers.input) ? static_cast<std::size_t>(rank) : 0;
  return block * call_.bufferElems + inBlock;
}

RankSet ExpectedResults::contributors(std::size_t at) const {
  if (isReduction(call_.collective())) return RankSet::all(ranks_);
  return RankSet::of(mover(at));
}

/// Of an operation that only moves: whose input output element `at` is from.
int ExpectedResults::mover(std::size_t at) const {
  if (!holdsBlocks(buffersOf(call_.collective()).output)) return call_.root;
  return static_cast<int>(at / call_.bufferElems);
}

Expression ExpectedResults::expression(int rank, std::size_t at) {
  if (!isReduction(call_.collective())) return input(mover(at), element(rank, at));
  switch (call_.collective()) {
    case Collective::kReduceScatter:
      return reduced(element(rank, at), rank);
    case Collective::kReduce:
      return reduced(at, 0);
    default:
      break;
  }
  const std::size_t inShare = at - call_.share.offset;
  std::optional<Expression>& sum = sums_[inShare];
  if (!sum) sum = reduced(at, owners_.empty() ? 0 : owners_[inShare]);
  return *sum;
}

Expression ExpectedResults::reduced(std::size_t element, int owner) const {
  Expression sum = 0;
  if (call_.info().order == FoldOrder::kRankOrder) {
    sum = rankOrderSum(element);
  } else if (call_.info().name == "ring") {
    sum = ringSum(element, owner);
  } else if (call_.info().name == "log_tree") {
    int distance = 1;
    while (distance < ranks_)
      distance *= 2;
    sum = binomialSum(element, owner, 0, distance);
  } else {
    sum = input(treeRank(0), element);
    if (ranks_ > 1) sum = sumExpression(sum, treeSum(element, 1, ranks_));
  }
  return roundExpression(lastExpression(sum));
}

/// Ranks 0..n-1, nothing rounded.
Expression ExpectedResults::rankOrderSum(std::size_t element) const {
  Expression sum = input(0, element);
  for (int rank = 1; rank < ranks_; ++rank)
    sum = sumExpression(sum, input(rank, element));
  return sum;
}

/// owner+1, owner+2, ..., owner; all but the last sum rounded.
Expression ExpectedResults::ringSum(std::size_t element, int owner) const {
  Expression sum = input((owner + 1) % ranks_, element);
  for (int i = 2; i <= ranks_; ++i) {
    if (i > 2) sum = roundExpression(sum);
    sum = sumExpression(sum, input((owner + i) % ranks_, element));
  }
  return sum;
}

/// What the places [place, place + distance) before the owner add up to: the lower half plus the
/// upper one, each rounded. Places beyond the last rank do not count.
Expression ExpectedResults::binomialSum(std::size_t element,
                                        int owner,
                                        int place,
                                        int distance) const {
  if (distance == 1) return input((owner - place + ranks_) % ranks_, element);
  const int half = distance / 2;
  const Expression lower = binomialSum(element, owner, place, half);
  if (place + half >= ranks_) return lower;
  const Expression upper = binomialSum(element, owner, place + half, half);
  const auto rounded = [&](int first, Expression sum) {
    const bool one = half == 1 || first + 1 >= ranks_;  // a single input is exact as it is
    return one ? sum : roundExpression(sum);
  };
  return sumExpression(rounded(place, lower), rounded(place + half, upper));
}

/// What the positions [begin, end) of a tree in in-order numbering hand to their parent: the one
/// divisible by the largest power of two is the root; the left part, itself, the right part.
Expression ExpectedResults::treeSum(std::size_t element, int begin, int end) const {
  int power = 1;
  while ((end - 1) / (power * 2) * (power * 2) >= begin)
    power *= 2;
  const int root = (end - 1) / power * power;
  Expression sum = input(treeRank(root), element);
  if (begin < root) sum = sumExpression(treeSum(element, begin, root), sum);
  if (root + 1 < end) sum = sumExpression(sum, treeSum(element, root + 1, end));
  return end - begin > 1 ? roundExpression(sum) : sum;
}

int ExpectedResults::treeRank(int position) const {
  if (call_.collective() == Collective::kReduce) return (position + call_.root) % ranks_;
  if (call_.channel % 2 == 0) return position;
  return ranks_ % 2 == 0 ? ranks_ - 1 - position : (position + 1) % ranks_;
}

}  // namespace rondo::verifier
