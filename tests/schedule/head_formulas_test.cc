// The costs that the algorithms' file heads and docs promise, written down a second time: steps,
// slots and hops per loop. The verifier holds cost() to what runs; this holds it to the prose.
#include <bit>
#include <functional>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "tests/schedule/matrix.h"

namespace rondo::verifier {
namespace {

struct Place {
  int rank;
  int ranks;
  int root;
};

/// Steps and slots sent in one loop, and hops.
struct PerLoop {
  int steps;
  int slots;
  int hops;
};

int log2Ceil(int ranks) {
  return std::bit_width(static_cast<unsigned>(ranks - 1));
}

/// Neighbours below `position` in the tree of patterns/binary_tree.h.
int childrenAt(int position, int ranks) {
  if (position == 0) return ranks > 1 ? 1 : 0;
  const int bit = position & -position;
  return bit == 1 ? 0 : 1 + (position + 1 < ranks ? 1 : 0);
}

int placeAfterRoot(const Place& at) {
  return (at.rank - at.root + at.ranks) % at.ranks;
}

using Formula = std::function<PerLoop(const Place&)>;

PerLoop direct(const Place& at) {
  return {at.ranks, at.ranks - 1, at.ranks > 1 ? 1 : 0};
}

PerLoop ringOnce(const Place& at) {
  return {at.ranks, at.ranks - 1, at.ranks - 1};
}

std::map<std::string, Formula> allReduceFormulas() {
  std::map<std::string, Formula> formulas;
  formulas["all_reduce_one_shot"] = [](const Place& at) {
    return PerLoop{at.ranks > 1 ? 2 : 1, at.ranks - 1, at.ranks > 1 ? 1 : 0};
  };
  formulas["all_reduce_two_shot"] = [](const Place& at) {
    return PerLoop{2 * at.ranks - 1, 2 * (at.ranks - 1), at.ranks > 1 ? 2 : 0};
  };
  formulas["all_reduce_ring"] = [](const Place& at) {
    return PerLoop{2 * at.ranks - 1, 2 * (at.ranks - 1), 2 * (at.ranks - 1)};
  };
  formulas["all_reduce_tree"] = [](const Place& at) {
    const bool root = at.rank == 0;
    const int slots = childrenAt(at.rank, at.ranks) + (root ? 0 : 1);
    return PerLoop{root ? 1 : 2, slots, 2 * log2Ceil(at.ranks)};
  };
  formulas["all_reduce_chain"] = [](const Place& at) {
    const bool last = at.rank == at.ranks - 1;
    const int slots = (at.rank > 0 ? 1 : 0) + (last ? 0 : 1);
    return PerLoop{last ? 1 : 2, slots, 2 * (at.ranks - 1)};
  };
  return formulas;
}

std::map<std::string, Formula> allFormulas() {
  std::map<std::string, Formula> formulas = allReduceFormulas();
  formulas["reduce_scatter_direct"] = formulas["all_gather_direct"] = direct;
  formulas["reduce_scatter_ring"] = formulas["all_gather_ring"] = ringOnce;
  formulas["reduce_scatter_log_tree"] = [](const Place& at) {
    const int phases = log2Ceil(at.ranks);
    return PerLoop{2 * phases + at.ranks % 2, phases, phases};
  };
  formulas["all_gather_log_tree"] = [](const Place& at) {
    const int phases = log2Ceil(at.ranks);
    return PerLoop{at.ranks == 1 ? 1 : 2 * phases, phases, phases};
  };
  formulas["broadcast_tree"] = [](const Place& at) {
    return PerLoop{1, childrenAt(placeAfterRoot(at), at.ranks), log2Ceil(at.ranks)};
  };
  formulas["broadcast_chain"] = [](const Place& at) {
    return PerLoop{1, placeAfterRoot(at) < at.ranks - 1 ? 1 : 0, at.ranks - 1};
  };
  formulas["reduce_tree"] = [](const Place& at) {
    return PerLoop{1, at.rank == at.root ? 0 : 1, log2Ceil(at.ranks)};
  };
  formulas["reduce_chain"] = [](const Place& at) {
    const bool last = at.rank == at.ranks - 1;
    const bool root = at.rank == at.root;
    const int hops = at.ranks - 1 + (at.root == at.ranks - 1 ? 0 : 1);
    return PerLoop{root && !last ? 2 : 1, root && last ? 0 : 1, hops};
  };
  formulas["all_to_all_direct"] = [](const Place& at) {
    return PerLoop{2 * at.ranks - 1, at.ranks - 1, at.ranks > 1 ? 1 : 0};
  };
  formulas["all_to_all_pairwise"] = [](const Place& at) {
    return PerLoop{2 * at.ranks - 1, at.ranks - 1, at.ranks > 2 ? at.ranks : at.ranks - 1};
  };
  formulas["gather_direct"] = [](const Place& at) {
    const bool root = at.rank == at.root;
    return PerLoop{root ? at.ranks : 1, root ? 0 : 1, at.ranks > 1 ? 1 : 0};
  };
  formulas["scatter_direct"] = [](const Place& at) {
    const bool root = at.rank == at.root;
    return PerLoop{root ? at.ranks : 1, root ? at.ranks - 1 : 0, at.ranks > 1 ? 1 : 0};
  };
  formulas["barrier_dissemination"] = [](const Place& at) {
    const int rounds = log2Ceil(at.ranks);
    return PerLoop{rounds == 0 ? 0 : rounds + 1, rounds, rounds};
  };
  return formulas;
}

/// A call of exactly `loops` loops in every algorithm.
Call callOfLoops(AlgorithmId algorithm, const Place& at, std::size_t loops) {
  const AlgorithmInfo& info = algorithmInfo(algorithm);
  const auto n = static_cast<std::size_t>(at.ranks);
  const bool parted =
      info.collective == Collective::kAllReduce && (info.name == "ring" || info.name == "two_shot");
  Call call;
  call.algorithm = algorithm;
  call.root = at.root;
  call.chunkElems = info.name == "log_tree" ? maxOf(n / 2, 1) : 1;
  call.share = {0, loops * (parted ? n : 1)};
  call.bufferElems = call.share.elems;
  return call;
}

TEST(HeadFormulas, CostIsAsPromised) {
  const std::map<std::string, Formula> formulas = allFormulas();
  for (std::size_t row = 0; row < kAlgorithmCount; ++row) {
    const std::string name = algorithmTestName(algorithmAt(row));
    ASSERT_TRUE(formulas.contains(name)) << "no formula for " << name;
    const bool barrier = algorithmInfo(algorithmAt(row)).collective == Collective::kBarrier;
    for (int ranks = 1; ranks <= 40; ++ranks) {
      for (const int root : rootsToTry(algorithmAt(row), ranks)) {
        for (int rank = 0; rank < ranks; ++rank) {
          const Place at{rank, ranks, root};
          const PerLoop expected = formulas.at(name)(at);
          for (const std::size_t loops : {1, 7}) {
            const Call call = callOfLoops(algorithmAt(row), at, loops);
            const Cost cost = makeSchedule(call.algorithm, call.args(rank, ranks))->cost();
            const std::size_t times = barrier ? 1 : loops;
            SCOPED_TRACE(joined(name, " rank ", rank, " of ", ranks, ", ", loops, " loops"));
            ASSERT_EQ(cost.steps, times * static_cast<std::size_t>(expected.steps));
            ASSERT_EQ(cost.slotsSent, times * static_cast<std::size_t>(expected.slots));
            ASSERT_EQ(cost.hops, static_cast<std::size_t>(expected.hops));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace rondo::verifier
