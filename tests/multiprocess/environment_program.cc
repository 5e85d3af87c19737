// A rank that takes who it is from the environment: makes a communicator, sums over all ranks, and
// does it all again. Prints its number, or the failure. launchers_test.py starts it in all kinds of
// ways.
#include <cstdio>
#include <exception>
#include <vector>

#include "rondo/rondo.hpp"

namespace {

int failed(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, rondoGetLastError(nullptr));
  return 1;
}

/// Sums 1 + rank over all ranks.
int sumOnce() {
  rondoComm_t comm = nullptr;
  if (rondoCommInitFromEnvironment(&comm, nullptr) != rondoSuccess) return failed("init");
  int rank = -1;
  int ranks = 0;
  if (rondoCommRank(comm, &rank) != rondoSuccess) return failed("rank");
  if (rondoCommCount(comm, &ranks) != rondoSuccess) return failed("count");
  int sum = 1 + rank;
  if (rondoAllReduce(&sum, &sum, 1, rondoInt32, rondoSum, comm, nullptr) != rondoSuccess) {
    return failed("all_reduce");
  }
  if (sum != ranks * (ranks + 1) / 2) {
    std::fprintf(stderr, "rank %d of %d: sum %d\n", rank, ranks, sum);
    return 1;
  }
  // Ends a process only when all have the sum, as the library has no other way to say so.
  if (rondoBarrier(comm, nullptr) != rondoSuccess) return failed("barrier");
  if (rondoCommDestroy(comm) != rondoSuccess) return failed("destroy");
  std::printf("rank %d of %d\n", rank, ranks);
  return 0;
}

/// The same through the C++ interface.
int sumAgain() {
  const rondo::Communicator comm = rondo::Communicator::createFromEnvironment();
  std::vector<int> sum = {1 + comm.rank()};
  comm.allReduce(sum);
  comm.barrier();
  return sum[0] == comm.ranks() * (comm.ranks() + 1) / 2 ? 0 : 1;
}

}  // namespace

int main() {
  if (const int wrong = sumOnce(); wrong != 0) return wrong;
  try {
    return sumAgain();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "again: %s\n", error.what());
    return 1;
  }
}
