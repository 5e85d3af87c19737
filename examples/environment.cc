// A rank that finds the others by what its launcher tells it: `rondo run -n 4 -- ./environment`,
// mpirun, srun, torchrun or variables set by hand (docs/deploying.md).
#include <cstdio>
#include <vector>

#include <rondo/rondo.hpp>

int main() {
  try {
    rondo::Communicator comm = rondo::Communicator::createFromEnvironment();
    std::vector<float> gradients(1 << 16, static_cast<float>(comm.rank() + 1));
    comm.allReduce(gradients);
    if (comm.rank() == 0) {
      std::printf("%d ranks, each element is %g\n", comm.ranks(), gradients.front());
    }
  } catch (const rondo::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
