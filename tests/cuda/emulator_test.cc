// The emulator of tests/cuda/emulator/: kernels run on it as they do on a GPU, and what is wrong
// with a kernel is seen. Races are in emulator_race_test.cc.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/cuda/device.h"
#include "tests/cuda/emulator/machine.h"

namespace rondo::emulator {
namespace {

using device::Pack;

void waitFor(const std::uint64_t& counter, std::uint64_t value) {
  while (device::observeCounter(counter) < value) {
  }
}

/// Both schedules, one of them with several seeds: for what must hold in any.
std::vector<Options> manyWays(std::uint64_t seeds = 20) {
  std::vector<Options> ways{{}};
  for (std::uint64_t seed = 1; seed <= seeds; ++seed)
    ways.push_back({.schedule = Schedule::kRandom, .seed = seed});
  return ways;
}

/// Runs what was launched, which must end.
Statistics finish(Machine& machine) {
  const Outcome outcome = machine.run();
  EXPECT_TRUE(outcome.finished) << outcome.report;
  return outcome.statistics;
}

/// Runs what was launched, which must not end; what the report says.
std::string failure(Machine& machine) {
  const Outcome outcome = machine.run();
  EXPECT_FALSE(outcome.finished);
  return outcome.report;
}

#define EXPECT_SAYS(report, part) \
  EXPECT_NE((report).find(part), std::string::npos) << "no \"" << (part) << "\" in:\n" << (report)

// Launches.

TEST(Emulator, CountersGoBackAndForth) {
  for (const Options& options : manyWays()) {
    constexpr std::uint64_t kTimes = 200;
    std::uint64_t ping = 0;
    std::uint64_t pong = 0;
    Machine machine(options);
    machine.launch({.name = "rank 0", .threads = 1}, [&] {
      for (std::uint64_t i = 1; i <= kTimes; ++i) {
        device::postCounter(ping, i);
        waitFor(pong, i);
      }
    });
    machine.launch({.name = "rank 1", .threads = 1}, [&] {
      for (std::uint64_t i = 1; i <= kTimes; ++i) {
        waitFor(ping, i);
        device::postCounter(pong, i);
      }
    });
    EXPECT_EQ(finish(machine).stores, 2 * kTimes);
    EXPECT_EQ(ping, kTimes);
    EXPECT_EQ(pong, kTimes);
  }
}

TEST(Emulator, EveryThreadOfEveryBlockRunsOnce) {
  constexpr unsigned kBlocks = 3;
  constexpr unsigned kThreads = 80;
  std::vector<int> calls(kBlocks * kThreads);
  Machine machine;
  machine.launch({.name = "rank 0", .blocks = kBlocks, .threads = kThreads}, [&] {
    EXPECT_EQ(device::blockThreads(), kThreads);
    ++calls[device::blockIndex() * kThreads + device::threadIndex()];
  });
  finish(machine);
  EXPECT_EQ(calls, std::vector<int>(kBlocks * kThreads, 1));
}

TEST(Emulator, NothingLaunchedIsFinished) {
  Machine machine;
  finish(machine);
  machine.launch({.name = "rank 0", .blocks = 0}, [] { FAIL(); });
  machine.launch({.name = "rank 0", .threads = 0}, [] { FAIL(); });
  finish(machine);
}

TEST(Emulator, LaunchesOfOneNameRunInOrderWhileOthersGoOn) {
  for (const Options& options : manyWays()) {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    Machine machine(options);
    machine.launch({.name = "rank 0", .threads = 2}, [&] {
      if (device::threadIndex() == 0) device::postCounter(first, 1);
      EXPECT_EQ(device::observeCounter(second), 0u);
    });
    machine.launch({.name = "rank 0"}, [&] {
      if (device::threadIndex() == 0) device::postCounter(second, 1);
    });
    // Is in its first launch while rank 0 begins its second.
    machine.launch({.name = "rank 1"}, [&] {
      waitFor(first, 1);
      waitFor(second, 1);
    });
    finish(machine);
  }
}

TEST(Emulator, RunsAgainAfterAFailure) {
  std::uint64_t counter = 0;
  Machine machine;
  for (int i = 0; i < 3; ++i) {
    machine.launch({.name = "rank 0"}, [&] { waitFor(counter, 1); });
    EXPECT_SAYS(failure(machine), "deadlock");
    machine.launch({.name = "rank 0"}, [&] { waitFor(counter, 0); });
    finish(machine);
  }
}

TEST(Emulator, WaitingBlocksStartWhenAPlaceIsFree) {
  std::atomic<unsigned> come = 0;
  std::array<unsigned, 5> order{};
  Machine machine({.residentBlocks = 1});
  machine.launch({.name = "rank 0", .blocks = 3, .threads = 1},
                 [&] { order[come++] = device::blockIndex(); });
  machine.launch({.name = "rank 1", .blocks = 2, .threads = 1},
                 [&] { order[come++] = 10 + device::blockIndex(); });
  finish(machine);
  EXPECT_EQ(order, (std::array<unsigned, 5>{0, 1, 2, 10, 11}));
}

TEST(Emulator, APlaceGoesToTheEarliestLaunch) {
  std::atomic<unsigned> come = 0;
  std::array<unsigned, 3> order{};
  Machine machine({.residentBlocks = 1});
  machine.launch({.name = "rank 0", .threads = 1}, [&] { order[come++] = 0; });
  machine.launch({.name = "rank 1", .threads = 1}, [&] { order[come++] = 1; });
  machine.launch({.name = "rank 0", .threads = 1}, [&] { order[come++] = 2; });
  finish(machine);
  EXPECT_EQ(order, (std::array<unsigned, 3>{0, 1, 2}));
}

// Blocks and warps.

TEST(Emulator, ABarrierIsPassedTogether) {
  for (const Options& options : manyWays()) {
    constexpr unsigned kThreads = 96;
    constexpr int kTimes = 20;
    std::uint64_t word = 0;
    std::array<std::atomic<int>, kTimes> arrivals{};
    Machine machine(options);
    machine.launch({.name = "rank 0", .threads = kThreads}, [&] {
      for (std::atomic<int>& arrived : arrivals) {
        static_cast<void>(device::observeCounter(word));  // others may run
        ++arrived;
        device::syncBlock();
        EXPECT_EQ(arrived, static_cast<int>(kThreads));
      }
    });
    EXPECT_EQ(finish(machine).blockMeetings, static_cast<std::uint64_t>(kTimes));
  }
}

TEST(Emulator, ABlockVotes) {
  Machine machine;
  machine.launch({.name = "rank 0", .blocks = 2, .threads = 64}, [&] {
    for (unsigned turn = 0; turn < 64; ++turn) {
      EXPECT_TRUE(device::syncBlockAny(device::threadIndex() == turn));
      EXPECT_FALSE(device::syncBlockAny(false));
      // What a block says is not what the other does.
      EXPECT_EQ(device::syncBlockAny(device::blockIndex() == 1), device::blockIndex() == 1);
    }
  });
  finish(machine);
}

TEST(Emulator, AWarpVotes) {
  for (const Options& options : manyWays()) {
    Machine machine(options);
    machine.launch({.name = "rank 0", .threads = 80}, [&] {
      const unsigned warp = device::threadIndex() / device::kWarpThreads;
      for (unsigned turn = 0; turn < 80; ++turn) {
        const bool mine = device::threadIndex() == turn;
        EXPECT_EQ(device::anyInWarp(mine), turn / device::kWarpThreads == warp);
      }
    });
    finish(machine);
  }
}

TEST(Emulator, SharedMemoryIsTheBlocksOwn) {
  constexpr unsigned kThreads = 64;
  Machine machine;
  machine.launch({.name = "rank 0", .blocks = 4, .threads = kThreads, .sharedBytes = 4 * kThreads},
                 [&] {
                   auto* const words = reinterpret_cast<std::uint32_t*>(device::sharedMemory());
                   const unsigned thread = device::threadIndex();
                   EXPECT_EQ(reinterpret_cast<std::uintptr_t>(words) % 16, 0u);
                   EXPECT_EQ(words[thread], 0xA5A5A5A5u);
                   words[thread] = device::blockIndex() * kThreads + thread;
                   device::syncBlock();
                   EXPECT_EQ(words[kThreads - 1 - thread],
                             device::blockIndex() * kThreads + kThreads - 1 - thread);
                 });
  finish(machine);
}

// Packs and lines.

/// A pack whose halves are alike, until it is torn.
Pack twins(std::uint64_t value) {
  return {{value, value}};
}

/// How often a reader sees a pack with different halves while it is rewritten.
int timesTorn(const Options& options) {
  int torn = 0;
  Pack pack;
  Machine machine(options);
  machine.launch({.name = "writer", .threads = 1}, [&] {
    for (std::uint64_t i = 1; i <= 100; ++i)
      device::placePack(pack, twins(i));
  });
  machine.launch({.name = "reader", .threads = 1}, [&] {
    for (;;) {
      const Pack seen = device::peekPack(pack);
      if (seen.half[0] != seen.half[1]) ++torn;
      if (seen.half[0] == 100 && seen.half[1] == 100) return;
    }
  });
  finish(machine);
  return torn;
}

TEST(Emulator, PacksAreTornWhereAskedFor) {
  for (Options options : manyWays()) {
    if (options.schedule == Schedule::kRoundRobin) continue;
    EXPECT_EQ(timesTorn(options), 0);
    options.tearPacks = true;
    EXPECT_GT(timesTorn(options), 0) << "seed " << options.seed;
  }
  EXPECT_EQ(timesTorn({}), 0);
}

TEST(Emulator, EitherHalfOfATornPackMayBeFirst) {
  std::set<bool> firstIsNew;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Pack pack;
    Machine machine({.schedule = Schedule::kRandom, .seed = seed, .tearPacks = true});
    machine.launch({.name = "writer", .threads = 1}, [&] { device::placePack(pack, twins(1)); });
    machine.launch({.name = "reader", .threads = 1}, [&] {
      for (Pack seen; seen.half[0] == 0 || seen.half[1] == 0;) {
        seen = device::peekPack(pack);
        if (seen.half[0] != seen.half[1]) firstIsNew.insert(seen.half[0] == 1);
      }
    });
    finish(machine);
  }
  EXPECT_EQ(firstIsNew.size(), 2u);
}

/// How many packs a reader finds old in lines whose last pack is new.
int packsTornOutOfLines(const Options& options) {
  constexpr unsigned kLineThreads = 8;

  struct alignas(128) Lines {
    std::array<Pack, 64> packs{};
  };

  Lines lines;
  std::atomic<int> old = 0;
  Machine machine(options);
  machine.launch({.name = "writer", .threads = 64}, [&] {
    for (std::uint64_t i = 1; i <= 20; ++i)
      device::placeLine128(true, &lines.packs[device::threadIndex()], twins(i));
  });
  machine.launch({.name = "reader", .threads = 64, .sharedBytes = 8 * 64}, [&] {
    auto* const marks = reinterpret_cast<std::uint64_t*>(device::sharedMemory());
    const unsigned thread = device::threadIndex();
    for (std::uint64_t mark = 0; device::syncBlockAny(mark < 20);) {
      const Pack seen = device::peekLine128(true, &lines.packs[thread]);
      marks[thread] = mark = seen.half[1];
      device::syncBlock();
      if (seen.half[0] < marks[thread | (kLineThreads - 1)]) ++old;
    }
  });
  finish(machine);
  return old;
}

TEST(Emulator, AWarpMayHaveFewerThanFourLines) {
  struct alignas(128) Lines {
    std::array<Pack, 32> packs{};
  };

  for (const Options& options : manyWays(3)) {
    Lines lines;
    std::array<std::uint64_t, 32> seen{};
    Machine machine(options);
    machine.launch({.name = "rank 0"}, [&] {
      const unsigned thread = device::threadIndex();
      const bool there = thread < 8 || thread >= 24;
      device::placeLine128(there, &lines.packs[thread], twins(7));
      seen[thread] = device::peekLine128(there, &lines.packs[thread]).half[0];
    });
    finish(machine);
    for (unsigned thread = 0; thread < 32; ++thread) {
      const std::uint64_t expected = thread < 8 || thread >= 24 ? 7 : 0;
      EXPECT_EQ(lines.packs[thread].half[0], expected);
      EXPECT_EQ(seen[thread], expected);
    }
  }
}

TEST(Emulator, LinesStayTogetherUnlessTornOnPurpose) {
  int torn = 0;
  for (Options options : manyWays()) {
    EXPECT_EQ(packsTornOutOfLines(options), 0) << "seed " << options.seed;
    options.tearLines = true;
    torn += packsTornOutOfLines(options);
  }
  EXPECT_GT(torn, 0);
}

// Schedules.

/// In which order two launches of several threads come by.
std::vector<unsigned> orderOf(const Options& options) {
  std::atomic<std::size_t> come = 0;
  std::vector<unsigned> order(32);
  std::uint64_t word = 0;
  Machine machine(options);
  for (unsigned rank = 0; rank < 2; ++rank) {
    machine.launch({.name = "rank " + std::to_string(rank), .threads = 4}, [&, rank] {
      for (int i = 0; i < 4; ++i) {
        static_cast<void>(device::observeCounter(word));
        order[come++] = rank * 4 + device::threadIndex();
      }
    });
  }
  finish(machine);
  return order;
}

TEST(Emulator, ASeedIsASchedule) {
  std::set<std::vector<unsigned>> orders;
  for (const Options& options : manyWays()) {
    const std::vector<unsigned> order = orderOf(options);
    EXPECT_EQ(order, orderOf(options));
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), manyWays().size());
}

// What is wrong is reported.

TEST(EmulatorReport, NamesWhoPollsWhatMemory) {
  for (const Options& options : manyWays(3)) {
    std::array<std::uint64_t, 4> credits{0, 0, 6, 0};
    Machine machine(options);
    machine.nameMemory(credits.data(), sizeof credits, "credits of rank 3");
    machine.launch({.name = "rank 3", .kernel = "ring", .blocks = 2, .threads = 64}, [&] {
      if (device::blockIndex() == 0) return;
      if (device::threadIndex() == 5) waitFor(credits[2], 7);
      device::syncBlock();
    });
    const std::string report = failure(machine);
    EXPECT_SAYS(report, "deadlock");
    EXPECT_SAYS(report, "seed " + std::to_string(options.seed));
    EXPECT_SAYS(report,
                "rank 3 (ring) block 1 thread 5: in observeCounter at credits of rank 3 + 16 "
                "(value 6)");
    EXPECT_SAYS(report, "rank 3 (ring) block 1 threads 0-4, 6-63: wait in syncBlock");
    EXPECT_EQ(report.find("block 0"), std::string::npos) << report;
  }
}

TEST(EmulatorReport, SeesAWarpThatVotesOnWhatItPolls) {
  for (const Options& options : manyWays(3)) {
    std::array<Pack, 32> packs{};
    Machine machine(options);
    machine.launch({.name = "rank 0"}, [&] {
      while (device::anyInWarp(device::peekPack(packs[device::threadIndex()]).half[0] != 1)) {
      }
    });
    EXPECT_SAYS(failure(machine), "deadlock: nobody got on");
  }
}

TEST(EmulatorReport, SeesAWarpThatPollsLines) {
  struct alignas(128) Lines {
    std::array<Pack, 64> packs{};
  };

  for (const Options& options : manyWays(3)) {
    Lines lines;
    Machine machine(options);
    machine.launch({.name = "rank 0", .threads = 64}, [&] {
      while (device::anyInWarp(
          device::peekLine128(true, &lines.packs[device::threadIndex()]).half[1] == 0)) {
      }
    });
    EXPECT_SAYS(failure(machine), "deadlock: nobody got on");
  }
}

TEST(EmulatorReport, DoesNotTakeLongReadingForADeadlock) {
  // Nothing is written but memory of the reader's own, for longer than a deadlock takes.
  std::vector<Pack> packs(64 * 500);
  std::array<std::uint64_t, 64> totals{};
  Machine machine({.idleRounds = 10});
  machine.launch({.name = "rank 0", .threads = 64}, [&] {
    for (std::size_t i = device::threadIndex(); i < packs.size(); i += 64)
      totals[device::threadIndex()] += device::peekPack(packs[i]).half[0] + 1;
  });
  finish(machine);
  for (const std::uint64_t total : totals)
    EXPECT_EQ(total, packs.size() / 64);
}

TEST(EmulatorReport, NamesBlocksWithoutAPlace) {
  std::uint64_t later = 0;
  Machine machine({.residentBlocks = 2});
  machine.launch({.name = "rank 0", .blocks = 3}, [&] {
    if (device::blockIndex() < 2) waitFor(later, 1);
    if (device::threadIndex() == 0) device::postCounter(later, 1);
  });
  machine.launch({.name = "rank 0", .kernel = "next"}, [] {});
  const std::string report = failure(machine);
  EXPECT_SAYS(report, "deadlock");
  EXPECT_SAYS(report, "2 resident blocks");
  EXPECT_SAYS(report, "rank 0: 1 of 3 blocks have not started, no place is free");
  EXPECT_SAYS(report, "rank 0 (next): 1 of 1 blocks have not started, as the launch before");
}

TEST(EmulatorReport, IsBounded) {
  std::uint64_t never = 0;
  Machine machine;
  machine.launch({.name = "rank 0", .blocks = 100, .threads = 1}, [&] { waitFor(never, 1); });
  const std::string report = failure(machine);
  EXPECT_SAYS(report, "... and 60 lines more");
  EXPECT_LE(std::count(report.begin(), report.end(), '\n'), 50);
}

TEST(EmulatorReport, SeesThreadsThatWaitForEachOther) {
  Machine machine;
  machine.launch({.name = "rank 0", .threads = 32}, [] {
    if (device::threadIndex() == 0) {
      device::syncBlock();
    } else {
      device::anyInWarp(true);
    }
  });
  const std::string report = failure(machine);
  EXPECT_SAYS(report, "deadlock: all threads wait for each other");
  EXPECT_SAYS(report, "block 0 thread 0: wait in syncBlock");
}

TEST(EmulatorReport, SeesABarrierThatAThreadMisses) {
  for (const Options& options : manyWays(3)) {
    Machine machine(options);
    machine.launch({.name = "rank 0", .threads = 64}, [] {
      if (device::threadIndex() != 40) device::syncBlock();
    });
    EXPECT_SAYS(failure(machine), "a thread has ended that others of its block or warp wait for");
  }
}

TEST(EmulatorReport, SeesAVoteThatALaneMisses) {
  for (const Options& options : manyWays(3)) {
    Machine machine(options);
    machine.launch({.name = "rank 0", .threads = 64}, [] {
      if (device::threadIndex() != 40) device::anyInWarp(true);
    });
    EXPECT_SAYS(failure(machine), "a thread has ended that others of its block or warp wait for");
  }
}

TEST(EmulatorReport, SeesDifferentBarriersMeet) {
  Machine machine;
  machine.launch({.name = "rank 0", .threads = 64}, [] {
    if (device::threadIndex() == 0) {
      device::syncBlockAny(true);
    } else {
      device::syncBlock();
    }
  });
  EXPECT_SAYS(failure(machine), "while others of its block or warp wait in another function");
}

TEST(EmulatorReport, SeesAWarpThatDiverges) {
  struct alignas(128) Line {
    std::array<Pack, 32> packs{};
  };

  Line line;
  Machine machine;
  machine.launch({.name = "rank 0"}, [&] {
    if (device::threadIndex() < 16) {
      device::anyInWarp(true);
    } else {
      device::placeLine128(true, &line.packs[device::threadIndex()], {});
    }
  });
  EXPECT_SAYS(failure(machine), "while others of its block or warp wait in another function");
}

TEST(EmulatorReport, SeesLinesInPieces) {
  struct alignas(128) Line {
    std::array<Pack, 40> packs{};
  };

  Line line;
  Machine machine;
  machine.launch({.name = "rank 0"},
                 [&] { device::placeLine128(true, &line.packs[device::threadIndex() + 1], {}); });
  EXPECT_SAYS(failure(machine), "are not whole lines of 128 bytes");
}

TEST(EmulatorReport, SeesHalfALine) {
  struct alignas(128) Line {
    std::array<Pack, 32> packs{};
  };

  Line line;
  Machine machine;
  machine.launch({.name = "rank 0"}, [&] {
    const unsigned thread = device::threadIndex();
    device::placeLine128(thread < 28, &line.packs[thread], {});
  });
  EXPECT_SAYS(failure(machine), "are not whole lines of 128 bytes");
}

/// A kernel that does not get on, though it never waits: what it repeats.
void expectDeadline(const std::function<void()>& repeated) {
  Machine machine({.deadline = std::chrono::milliseconds(50)});
  machine.launch({.name = "rank 0", .threads = 2}, [&] {
    for (;;)
      repeated();
  });
  EXPECT_SAYS(failure(machine), "not finished after 50 ms");
}

TEST(EmulatorReport, HasADeadline) {
  std::array<std::uint64_t, 2> words{};
  expectDeadline([&] { device::postCounter(words[device::threadIndex()], 1); });
  expectDeadline([&] {
    std::uint64_t& word = words[device::threadIndex()];
    device::postCounter(word, device::observeCounter(word) + 1);
  });
  expectDeadline([] { device::syncBlock(); });
  expectDeadline([] { device::anyInWarp(true); });
}

// Several processes.

/// Memory that children of this process share with it.
struct SharedWords {
  SharedWords()
      : words(static_cast<std::uint64_t*>(
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}

  ~SharedWords() { munmap(words, kBytes); }

  SharedWords(const SharedWords&) = delete;
  SharedWords& operator=(const SharedWords&) = delete;

  static constexpr std::size_t kBytes = 4096;
  std::uint64_t* const words;
};

TEST(Emulator, RanksMayBeProcesses) {
  constexpr int kRanks = 3;
  constexpr std::uint64_t kTimes = 100;
  SharedWords shared;
  std::vector<pid_t> children;
  for (int rank = 0; rank < kRanks; ++rank) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Machine machine({.external = true, .deadline = std::chrono::seconds(30)});
      machine.launch({.name = "rank " + std::to_string(rank), .threads = 32}, [&] {
        std::uint64_t& mine = shared.words[rank];
        const std::uint64_t& left = shared.words[(rank + kRanks - 1) % kRanks];
        for (std::uint64_t i = 1; i <= kTimes; ++i) {
          if (device::threadIndex() == 0) device::postCounter(mine, i);
          waitFor(left, i);
          device::syncBlock();
        }
      });
      _exit(machine.run().finished ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

TEST(EmulatorReport, EndsTheWaitForAProcessThatNeverComes) {
  std::uint64_t never = 0;
  Machine machine({.external = true, .deadline = std::chrono::milliseconds(50)});
  machine.launch({.name = "rank 0"}, [&] { waitFor(never, 1); });
  const std::string report = failure(machine);
  EXPECT_SAYS(report, "not finished after 50 ms");
  EXPECT_SAYS(report, "rank 0 block 0 threads 0-31: in observeCounter");
}

// Size.

TEST(Emulator, EightRanksPassPacksAroundARing) {
  constexpr unsigned kRanks = 8;
  constexpr unsigned kBlocks = 2;
  constexpr unsigned kThreads = 64;
  constexpr unsigned kSlots = 4;
  constexpr std::size_t kElems = 64 << 10;  // floats, four to a pack of two marked halves
  constexpr std::size_t kPacks = kElems / 2 / kBlocks / kThreads;
  using Slots = std::array<std::array<std::array<Pack, kThreads>, kSlots>, kBlocks>;
  std::vector<Slots> slots(kRanks);
  std::vector<std::array<std::uint64_t, kBlocks * kThreads>> credits(kRanks);
  Machine machine;
  for (unsigned rank = 0; rank < kRanks; ++rank) {
    machine.launch({.name = "rank " + std::to_string(rank), .blocks = kBlocks, .threads = kThreads},
                   [&, rank] {
                     const unsigned block = device::blockIndex();
                     const unsigned thread = device::threadIndex();
                     const unsigned right = (rank + 1) % kRanks;
                     std::uint64_t& mine = credits[rank][block * kThreads + thread];
                     for (std::uint64_t i = 0; i < kPacks; ++i) {
                       const std::uint64_t mark = i + 1;
                       if (mark > kSlots)
                         waitFor(credits[right][block * kThreads + thread], mark - kSlots);
                       device::placePack(slots[right][block][i % kSlots][thread], twins(mark));
                       Pack seen;
                       do {
                         seen = device::peekPack(slots[rank][block][i % kSlots][thread]);
                       } while (seen.half[0] != mark || seen.half[1] != mark);
                       device::postCounter(mine, mark);
                     }
                   });
  }
  const Statistics statistics = finish(machine);
  EXPECT_EQ(statistics.stores, 2u * kRanks * kBlocks * kThreads * kPacks);
}

}  // namespace
}  // namespace rondo::emulator
