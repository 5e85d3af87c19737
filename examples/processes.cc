// Ranks as processes of one host: the parent makes the id, its children are the ranks. Across
// programs that do not share a parent, pass the id's 128 bytes by a file, MPI or a socket.
#include <cstdio>
#include <numeric>
#include <vector>

#include <rondo/rondo.hpp>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int kRanks = 4;

int runRank(int rank, const rondoUniqueId_t& id) {
  try {
    rondo::Communicator comm = rondo::Communicator::create(kRanks, id, rank);
    std::vector<double> values(8);
    std::iota(values.begin(), values.end(), rank);
    comm.allReduce(values);
    if (rank == 0) std::printf("element 3 is %g\n", values[3]);  // 3 + 4 + 5 + 6 = 18
    return 0;
  } catch (const rondo::Error& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    return 1;
  }
}

}  // namespace

int main() {
  const rondoUniqueId_t id = rondo::Communicator::makeUniqueId();
  for (int rank = 0; rank < kRanks; ++rank) {
    if (fork() == 0) return runRank(rank, id);
  }
  int worst = 0;
  for (int status = 0; wait(&status) > 0;)
    worst |= status;
  return worst == 0 ? 0 : 1;
}
