// Field tests N01, N04, N05, N10 and C09: ranks that meet while signals interrupt every call, on
// hosts whose name leads nowhere, by addresses of different families, on one processor, and with a
// rank that never comes or dies on the way.

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/time.h>
#include <unistd.h>

#include "rondo/rondo.h"
#include "tests/multiprocess/every_collective.h"
#include "tests/multiprocess/forked_ranks.h"

namespace rondo::testing {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// From now on a signal comes every millisecond, and what it interrupts is not restarted.
void interruptEverything() {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGALRM, &action, nullptr);
  const itimerval every{{0, 1000}, {0, 1000}};
  ::setitimer(ITIMER_REAL, &every, nullptr);
}

TEST(Init, N01SignalsDisturbNothing) {
  constexpr int kRounds = 20;
  ForkedRanks processes(2, [](int rank, const rondoUniqueId_t& first) {
    interruptEverything();
    rondoUniqueId_t id = first;
    int wrong = 0;
    for (int round = 0; round < kRounds && wrong == 0; ++round) {
      rondoComm_t comm = joinOrExit(2, rank, id);
      wrong += sumExactly(comm, 2, rank, 1000000);
      if (rank == 0) wrong += failed(nullptr, rondoGetUniqueId(&id));
      wrong += failed(comm, rondoBroadcast(&id, &id, sizeof id, rondoUint8, 0, comm, nullptr));
      wrong += failed(comm, rondoCommDestroy(comm));
    }
    return wrong;
  });
  processes.expectSuccess();
}

/// Networks, mounts and a host name of this process's own, or false.
bool makeOwnHost() {
  return ::unshare(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS) == 0 &&
         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         std::system("ip link set lo up 2>/dev/null") == 0;  // NOLINT(concurrency-mt-unsafe)
}

/// A file that stands in for /etc/hosts, for this process and its children.
class OwnHostsFile {
 public:
  OwnHostsFile() {
    say("");
    mounted_ = ::mount(path_.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) == 0;
  }

  ~OwnHostsFile() {
    ::umount("/etc/hosts");
    std::filesystem::remove(path_);
  }

  OwnHostsFile(const OwnHostsFile&) = delete;
  OwnHostsFile& operator=(const OwnHostsFile&) = delete;

  bool mounted() const { return mounted_; }

  void say(const char* text) const { std::ofstream(path_) << text; }

 private:
  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("rondo_hosts_" + std::to_string(::getpid()));
  bool mounted_ = false;
};

TEST(Init, N04TheHostNameIsNotAskedFor) {
  if (!makeOwnHost()) GTEST_SKIP() << "needs the right to make namespaces, and iproute2";
  ASSERT_EQ(::sethostname("elsewhere", 9), 0);
  const OwnHostsFile file;
  ASSERT_TRUE(file.mounted()) << std::strerror(errno);
  for (const char* hosts : {"127.0.1.1 elsewhere\n", "# nothing\n"}) {
    file.say(hosts);
    const auto begin = Clock::now();
    ForkedRanks processes(2, [](int rank, const rondoUniqueId_t& id) {
      rondoComm_t comm = joinOrExit(2, rank, id);
      return sumExactly(comm, 2, rank, 1000) + failed(comm, rondoCommDestroy(comm));
    });
    processes.expectSuccess();
    EXPECT_LT(Clock::now() - begin, milliseconds{10000}) << hosts;
  }
}

/// What ranks tell each other of themselves is of one family each, and not the same.
TEST(Init, N05RanksOfDifferentFamiliesMeet) {
  ForkedRanks processes(2, [](int rank, const rondoUniqueId_t& id) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    ::setenv("RONDO_ADVERTISE", rank == 0 ? "127.0.0.1" : "::1", 1);
    rondoComm_t comm = joinOrExit(2, rank, id);
    return callEverything(comm, 2, rank, 1000) + failed(comm, rondoCommDestroy(comm));
  });
  processes.expectSuccess();
}

/// The same, and no network that would join them: 2001:db8::/32 leads nowhere.
TEST(Init, N05NoFamilyInCommonIsToldWithBothRanksAndTheCure) {
  const RankLogs logs;
  ForkedRanks processes(2, [&](int rank, const rondoUniqueId_t& id) {
    logs.capture(rank);
    // NOLINTBEGIN(concurrency-mt-unsafe)
    ::setenv("RONDO_TRANSPORT", "tcp", 1);
    ::setenv("RONDO_CONNECT_TIMEOUT_MS", "3000", 1);
    ::setenv("RONDO_ADVERTISE", rank == 0 ? "127.0.0.1" : "2001:db8::1", 1);
    // NOLINTEND(concurrency-mt-unsafe)
    rondoComm_t comm = joinOrExit(2, rank, id);
    return expectFailure(comm, rondoBarrier(comm, nullptr), rondoTimeout,
                         {"rank 0 IPv4 only (127.0.0.1:", "rank 1 IPv6 only ([2001:db8::1]:",
                          "RONDO_INTERFACE or RONDO_ADVERTISE"});
  });
  processes.expectSuccess();
  EXPECT_FALSE(HasFailure()) << logs.textOf(0) << logs.textOf(1);
}

/// How many threads of this process may run elsewhere than on the processors in `allowed`.
int threadsNotBoundTo(const cpu_set_t& allowed) {
  int astray = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    cpu_set_t mask;
    const int thread = std::stoi(task.path().filename().string());
    if (::sched_getaffinity(thread, sizeof mask, &mask) != 0) continue;
    cpu_set_t common;
    CPU_AND(&common, &mask, &allowed);
    astray += CPU_EQUAL(&common, &mask) ? 0 : 1;
  }
  return astray;
}

TEST(Init, C09FourRanksOnOneProcessorStayThereAndFinish) {
  cpu_set_t usable;
  ASSERT_EQ(::sched_getaffinity(0, sizeof usable, &usable), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = CPU_SETSIZE - 1; CPU_COUNT(&one) == 0; --cpu) {
    if (CPU_ISSET(cpu, &usable)) CPU_SET(cpu, &one);
  }
  ForkedRanks processes(4, [&one](int rank, const rondoUniqueId_t& id) {
    if (::sched_setaffinity(0, sizeof one, &one) != 0) return 2;
    rondoComm_t comm = joinOrExit(4, rank, id);
    int wrong = threadsNotBoundTo(one);
    for (int round = 0; round < 100; ++round)
      wrong += failed(comm, rondoBarrier(comm, nullptr));
    return wrong + failed(comm, rondoCommDestroy(comm));
  });
  processes.expectSuccess(milliseconds{20000});
}

std::size_t entriesOf(const char* folder) {
  const std::filesystem::directory_iterator entries(folder);
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

/// Joins `ranks` ranks, which cannot succeed, within 3 s.
/// @return 0 if it failed in 3 to 20 s, naming `missing`.
int joinInVain(int ranks, int rank, const rondoUniqueId_t& id, const char* missing) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.initTimeoutMs = 3000;
  rondoComm_t comm = nullptr;
  const auto begin = Clock::now();
  const rondoResult_t result = rondoCommInitRank(&comm, ranks, id, rank, &config);
  const auto took = Clock::now() - begin;
  if (took < milliseconds{2500} || took > milliseconds{20000}) {
    std::fprintf(stderr, "took %lld ms\n",
                 static_cast<long long>(std::chrono::duration_cast<milliseconds>(took).count()));
    return 2;
  }
  return expectFailure(nullptr, result, rondoTimeout, {missing});
}

TEST(Init, N10AMissingRankIsNamedAndFewerCanMeetAfterwards) {
  int ids[2];  // NOLINT(modernize-avoid-c-arrays): what pipe() takes
  ASSERT_EQ(::pipe(ids), 0);
  ForkedRanks processes(2, [&ids](int rank, const rondoUniqueId_t& id) {
    const std::size_t before = entriesOf("/proc/self/fd");
    if (joinInVain(3, rank, id, "2") != 0) return 2;
    std::this_thread::sleep_for(milliseconds{300});
    const std::size_t files = entriesOf("/proc/self/fd");
    if (files > before || entriesOf("/proc/self/task") > 1) {
      std::fprintf(stderr, "files %zu -> %zu\n", before, files);
      return 3;
    }
    rondoUniqueId_t again;
    if (rank == 0) {
      if (rondoGetUniqueId(&again) != rondoSuccess) return 4;
      if (::write(ids[1], &again, sizeof again) != sizeof again) return 5;
    } else if (::read(ids[0], &again, sizeof again) != sizeof again) {
      return 6;
    }
    rondoComm_t comm = joinOrExit(2, rank, again);
    return sumExactly(comm, 2, rank, 1000) + failed(comm, rondoCommDestroy(comm));
  });
  processes.expectSuccess();
  ::close(ids[0]);
  ::close(ids[1]);
}

TEST(Init, N10ARankThatIsKilledOnTheWayIsNamed) {
  constexpr int kVictim = 2;
  ForkedRanks processes(3, [](int rank, const rondoUniqueId_t& id) {
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.initTimeoutMs = 6000;
    rondoComm_t comm = nullptr;
    const rondoResult_t result = rondoCommInitRank(&comm, 4, id, rank, &config);
    const bool lost = result == rondoPeerLost || result == rondoTimeout;
    return expectFailure(nullptr, result, lost ? result : rondoPeerLost, {"rank 2"});
  });
  std::this_thread::sleep_for(milliseconds{1500});
  processes.signal(kVictim, SIGKILL);
  processes.expectSuccess(milliseconds{20000}, kVictim);
}

}  // namespace
}  // namespace rondo::testing
