// Field test C08 with ranks that are processes: children that one of them forks off neither use nor
// harm its communicator, and the other ranks do not take their end for the rank's.

#include <gtest/gtest.h>

#include "tests/collective/forked_children.h"
#include "tests/multiprocess/forked_ranks.h"

namespace rondo::testing {
namespace {

TEST(ProcessFork, ChildrenAreRefusedAndTheRanksGoOn) {
  constexpr int kRanks = 2;
  ForkedRanks processes(kRanks, [](int rank, const rondoUniqueId_t& id) {
    rondoComm_t comm = joinOrExit(kRanks, rank, id);
    int wrong = sumExactly(comm, kRanks, rank);
    wrong += forkChildren(comm);
    wrong += sumExactly(comm, kRanks, rank);
    return wrong + (rondoCommDestroy(comm) == rondoSuccess ? 0 : 1);
  });
  processes.expectSuccess();
}

}  // namespace
}  // namespace rondo::testing
