// Affinity masks, and a process that may use one processor only.
#include <array>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rondo/rondo.h"
#include "src/processors.h"
#include "src/topology/pinning.h"

namespace rondo {
namespace {

/// Runs `body` in a process of its own, so that it may bind it. Its result is the exit status;
/// after `seconds` it is killed by SIGALRM.
int statusOfChild(unsigned seconds, const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(seconds);
    ::_exit(body());
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

/// 0, or 1 with a line on stderr.
int check(bool condition, const char* what) {
  if (condition) return 0;
  std::fprintf(stderr, "failed: %s\n", what);
  return 1;
}

TEST(ProcessorMask, ReadsAndWritesLists) {
  for (const char* text : {"", "0", "0-3", "1,3,5-6", "63-64,1023"}) {
    EXPECT_EQ(ProcessorMask::parse(text).text(), text);
  }
  EXPECT_EQ(ProcessorMask::parse("5,3-4").text(), "3-5");
  EXPECT_EQ(ProcessorMask::parse("x,2,-1,7-,1-0,99999999999,1020-4000").text(), "2,1020-1023");
}

TEST(ProcessorMask, IsASet) {
  ProcessorMask mask = ProcessorMask::parse("2,64");
  EXPECT_EQ(mask.count(), 2);
  EXPECT_EQ(mask.first(), 2);
  EXPECT_EQ(mask.list(), (std::vector{2, 64}));
  EXPECT_TRUE(mask.isWithin(ProcessorMask::range(0, 64)));
  EXPECT_FALSE(mask.isWithin(ProcessorMask::range(0, 63)));
  EXPECT_EQ((mask & ProcessorMask::range(3, 70)).text(), "64");
  mask |= ProcessorMask::range(0, 0);
  mask.add(-1);
  mask.add(ProcessorMask::kMost);
  EXPECT_EQ(mask.text(), "0,2,64");
  EXPECT_FALSE(mask.contains(-1));
  EXPECT_FALSE(mask.contains(ProcessorMask::kMost));
  EXPECT_EQ(ProcessorMask{}.first(), -1);
  EXPECT_TRUE(ProcessorMask{}.empty());
}

TEST(BindThisThread, OnlyNarrows) {
  std::thread([] {  // leaves the test's own thread as it is
    const ProcessorMask before = allowedProcessors();
    ASSERT_TRUE(bindThisThread(ProcessorMask::range(0, ProcessorMask::kMost - 1)).ok());
    EXPECT_EQ(allowedProcessors(), before);
    const ProcessorMask one = ProcessorMask::range(before.first(), before.first());
    ASSERT_TRUE(bindThisThread(one).ok());
    EXPECT_EQ(allowedProcessors(), one);
    EXPECT_EQ(usableProcessors(), 1);
    const int other = before.first() + 1;
    const Status status = bindThisThread(ProcessorMask::range(other, other));
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(),
              fmt::format("cannot bind a thread to processors {}: it may use {} only", other,
                          before.first()));
    EXPECT_EQ(allowedProcessors(), one);
  })
      .join();
}

/// 100 barriers of four ranks, and suggestions for them.
int runOnOneProcessor() {
  constexpr int kRanks = 4;
  const ProcessorMask allowed = allowedProcessors();
  const ProcessorMask one = ProcessorMask::range(allowed.first(), allowed.first());
  int failures = check(bindThisThread(one).ok(), "bind to one processor");
  const Topology topology = findTopology();
  failures += check(topology.mask() == one, "the topology has this processor only");
  for (const ProcessorMask& mask : pinRanks(std::vector<LocalRank>(kRanks, {&topology})))
    failures += check(mask == one, "suggestions are within the mask");

  std::array<rondoComm_t, kRanks> comms{};
  failures += check(rondoCommInitAll(comms.data(), kRanks, nullptr) == rondoSuccess, "init");
  if (failures > 0) return 1;
  std::array<int, kRanks> failed{};
  std::vector<std::thread> ranks;
  for (std::size_t rank = 0; rank < comms.size(); ++rank) {
    ranks.emplace_back([&, rank] {  // inherits the mask
      for (int call = 0; call < 100; ++call)
        failed[rank] += rondoBarrier(comms[rank], nullptr) == rondoSuccess ? 0 : 1;
    });
  }
  for (std::thread& rank : ranks)
    rank.join();
  for (std::size_t rank = 0; rank < comms.size(); ++rank) {
    failures += check(failed[rank] == 0, "barrier");
    failures += check(rondoCommDestroy(comms[rank]) == rondoSuccess, "destroy");
  }
  return failures == 0 ? 0 : 1;
}

TEST(OneProcessor, FourRanksFinishAHundredBarriers) {
  const int status = statusOfChild(20, runOnOneProcessor);
  EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace rondo
