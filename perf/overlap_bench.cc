// How well an all-reduce on a stream hides behind computing: two processes each compute for as long
// as the all-reduce alone takes, with it beside. Run it by perf/overlap, over a link that is slower
// than the processors.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "perf/timing.h"
#include "rondo/rondo.hpp"

namespace {

using rondo::medianTogether;

constexpr int kRanks = 2;
constexpr int kRounds = 7;

/// Work that nothing of the compiler's can shorten; its result goes nowhere.
void compute(long rounds) {
  volatile double value = 1;
  for (long round = 0; round < rounds; ++round)
    value = value * 1.000000001;
}

/// Rounds of compute() that take `time` while both ranks compute.
long roundsFor(double time, const rondo::Communicator& comm) {
  constexpr long kTrial = 20'000'000;
  const double trial = medianTogether(comm, kRounds, [] { compute(kTrial); });
  return static_cast<long>(kTrial * (time / trial));
}

void measure(const rondo::Communicator& comm, std::size_t bytes) {
  std::vector<float> data(bytes / sizeof(float));
  const rondo::Stream stream;
  comm.allReduce(data);  // connections are made
  const double alone = medianTogether(comm, kRounds, [&] { comm.allReduce(data); });
  const long rounds = roundsFor(alone, comm);
  const double computing = medianTogether(comm, kRounds, [&] { compute(rounds); });
  const double oneByOne = medianTogether(comm, kRounds, [&] {
    comm.allReduce(data);
    compute(rounds);
  });
  const double overlapped = medianTogether(comm, kRounds, [&] {
    comm.on(stream).allReduce(data);
    compute(rounds);
    stream.synchronize();
  });
  if (comm.rank() != 0) return;
  std::printf("all-reduce of %zu bytes alone    %8.1f ms\n", bytes, 1e3 * alone);
  std::printf("computing alone                  %8.1f ms\n", 1e3 * computing);
  std::printf("one after the other              %8.1f ms\n", 1e3 * oneByOne);
  std::printf("all-reduce on a stream beside it %8.1f ms\n", 1e3 * overlapped);
  std::printf("beside it / alone                %8.2f\n", overlapped / alone);
}

int runRank(int rank, const rondoUniqueId_t& id, std::size_t bytes) {
  try {
    measure(rondo::Communicator::create(kRanks, id, rank), bytes);
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "rank %d: %s\n", rank, failure.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const long mebibytes = argc > 1 ? std::atol(argv[1]) : 4;
  if (argc > 2 || mebibytes < 1) {
    std::fprintf(stderr, "usage: overlap_bench [MIB]\n");
    return 2;
  }
  const std::size_t bytes = static_cast<std::size_t>(mebibytes) << 20;
  // The other rank is forked off before the library has done anything.
  int ends[2];
  if (::pipe(ends) != 0) return 1;
  rondoUniqueId_t id;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::read(ends[0], &id, sizeof id) == sizeof id ? runRank(1, id, bytes) : 1);
  if (child < 0 || rondoGetUniqueId(&id) != rondoSuccess ||
      ::write(ends[1], &id, sizeof id) != sizeof id)
    return 1;
  const int result = runRank(0, id, bytes);
  int status = 1;
  ::waitpid(child, &status, 0);
  return result != 0 || status != 0 ? 1 : 0;
}
