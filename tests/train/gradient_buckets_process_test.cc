// The same between processes, one of which may die.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "rondo/train/gradient_buckets.h"
#include "tests/multiprocess/forked_ranks.h"

namespace rondo::train {
namespace {

using testing::ForkedRanks;
using testing::joinOrExit;

/// Two tensors, the means of which are wrong on return, or right: 0.
int pass(GradientBuckets& buckets, int rank, int ranks) {
  for (const std::size_t tensor : {1, 0}) {
    for (float& value : buckets.view<float>(tensor))
      value = static_cast<float>(rank);
    buckets.markReady(tensor);
  }
  buckets.finish();
  for (const float value : buckets.view<float>(1)) {
    if (value != static_cast<float>(ranks - 1) / 2) return 1;
  }
  return 0;
}

std::vector<GradientSpec> tensors() {
  return {{"embedding", rondoFloat32, 300000}, {"head", rondoFloat32, 1000}};
}

TEST(GradientBucketsOfProcesses, AreMeans) {
  ForkedRanks ranks(3, [](int rank, const rondoUniqueId_t& id) {
    const Communicator comm(joinOrExit(3, rank, id));
    GradientBuckets buckets(comm, tensors());
    for (int round = 0; round < 4; ++round) {
      if (pass(buckets, rank, 3) != 0) return 1;
    }
    return 0;
  });
  ranks.expectSuccess();
}

TEST(GradientBucketsOfProcesses, FailWhenARankIsKilledMidPass) {
  ForkedRanks ranks(3, [](int rank, const rondoUniqueId_t& id) {
    const Communicator comm(joinOrExit(3, rank, id));
    GradientBuckets buckets(comm, tensors());
    if (pass(buckets, rank, 3) != 0) return 1;
    buckets.markReady(1);
    if (rank == 1) ::kill(::getpid(), SIGKILL);
    buckets.markReady(0);
    try {
      buckets.finish();
    } catch (const Error& error) {
      const bool named = std::string(error.what()).find("rank 1") != std::string::npos;
      if (!named) std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
      return named && error.result() == rondoPeerLost ? 0 : 2;
    }
    return 3;
  });
  ranks.expectSuccess(std::chrono::seconds{60}, 1);
}

}  // namespace
}  // namespace rondo::train
