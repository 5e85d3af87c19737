// Field test C01: memory that is not to be had, on any rank and at any time, makes ranks use tcp
// instead, says so once, and is an error where there is no instead; never a signal.

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rondo/rondo.h"
#include "tests/multiprocess/every_collective.h"
#include "tests/multiprocess/forked_ranks.h"

namespace rondo::testing {
namespace {

using std::chrono::milliseconds;

constexpr int kRanks = 4;

/// For all of it: far from the time that a rank waits for one that does not come for memory.
constexpr milliseconds kPromptly{12000};

void limit(int resource, std::size_t bytes) {
  const rlimit limits{bytes, bytes};
  if (::setrlimit(static_cast<__rlimit_resource_t>(resource), &limits) != 0) ::_exit(99);
}

/// Files of this process may not become as large as an arena.
void allowSmallFilesOnly() {
  limit(RLIMIT_FSIZE, std::size_t{1} << 20);
}

/// An arena does not fit into what is left of this process's address space.
void leaveLittleAddressSpace() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  limit(RLIMIT_AS, pages * 4096 + (std::size_t{100} << 20));
}

/// As sandboxes do that do not know the call.
void refuseMemoryFiles() {
  // NOLINTBEGIN(modernize-avoid-c-arrays): what the macros and the kernel want
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  // NOLINTEND(modernize-avoid-c-arrays)
  const sock_fprog program{4, rules};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) ::_exit(99);
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) ::_exit(99);
}

struct Shortage {
  const char* name;
  int rank;  ///< which has it
  void (*cause)();
  const char* said;  ///< in the one warning
};

std::ostream& operator<<(std::ostream& out, const Shortage& shortage) {
  return out << shortage.name;
}

class ShortOfMemory : public ::testing::TestWithParam<Shortage> {};

TEST_P(ShortOfMemory, RanksUseTcpAndSayWhyOnce) {
  const Shortage& shortage = GetParam();
  const RankLogs logs;
  ForkedRanks processes(kRanks, [&](int rank, const rondoUniqueId_t& id) {
    logs.capture(rank);
    if (rank == shortage.rank) shortage.cause();
    rondoComm_t comm = joinOrExit(kRanks, rank, id);
    int wrong = callEverything(comm, kRanks, rank, 1000);
    wrong += sumExactly(comm, kRanks, rank, 1000000);
    return wrong + failed(comm, rondoCommDestroy(comm));
  });
  processes.expectSuccess(kPromptly);
  const std::vector<std::string> warnings = logs.linesWith("warn");
  ASSERT_EQ(warnings.size(), 1U) << ::testing::PrintToString(logs.linesWith(""));
  for (const char* part : {"shm does not lead to", "bytes", shortage.said})
    EXPECT_NE(warnings.front().find(part), std::string::npos) << warnings.front();
}

TEST_P(ShortOfMemory, IsAnErrorOnAllRanksWithoutTcp) {
  const Shortage& shortage = GetParam();
  const RankLogs logs;
  ForkedRanks processes(kRanks, [&](int rank, const rondoUniqueId_t& id) {
    logs.capture(rank);
    ::setenv("RONDO_TRANSPORT", "shm", 1);  // NOLINT(concurrency-mt-unsafe)
    if (rank == shortage.rank) shortage.cause();
    rondoComm_t comm = nullptr;
    const rondoResult_t result = rondoCommInitRank(&comm, kRanks, id, rank, nullptr);
    return expectFailure(nullptr, result, rondoNotSupported, {"shm", "bytes", shortage.said});
  });
  processes.expectSuccess(kPromptly);
  EXPECT_FALSE(HasFailure()) << ::testing::PrintToString(logs.linesWith(""));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds,
    ShortOfMemory,
    ::testing::Values(
        Shortage{"file_size", 0, allowSmallFilesOnly, "ulimit -f"},
        Shortage{"no_memory_files", 0, refuseMemoryFiles, "RONDO_TRANSPORT=tcp"},
        Shortage{"address_space_of_the_maker", 0, leaveLittleAddressSpace, "ulimit -v"},
        Shortage{"address_space_of_another", 2, leaveLittleAddressSpace, "ulimit -v"}),
    [](const auto& param) { return param.param.name; });

/// Slots so large that the arena of 256 MiB is full before all connections are made, whatever the
/// ranks may use.
void wishForLargeSlots(const char* transports) {
  // NOLINTBEGIN(concurrency-mt-unsafe)
  ::setenv("RONDO_SLOT_MEMORY_BYTES", "0", 1);
  ::setenv("RONDO_CHUNK_BYTES", "4194304", 1);
  ::setenv("RONDO_CHANNELS", "4", 1);
  ::setenv("RONDO_ALGORITHM", "all_reduce:two_shot", 1);
  ::setenv("RONDO_TRANSPORT", transports, 1);
  // NOLINTEND(concurrency-mt-unsafe)
}

constexpr std::size_t kManyElements = std::size_t{5} << 20;

TEST(FullArena, FurtherConnectionsUseTcp) {
  const RankLogs logs;
  ForkedRanks processes(kRanks, [&](int rank, const rondoUniqueId_t& id) {
    logs.capture(rank);
    wishForLargeSlots("shm,tcp");
    rondoComm_t comm = joinOrExit(kRanks, rank, id);
    int wrong = 0;
    for (int round = 0; round < 3; ++round)
      wrong += sumExactly(comm, kRanks, rank, kManyElements);
    return wrong + failed(comm, rondoCommDestroy(comm));
  });
  processes.expectSuccess();
  const std::vector<std::string> warnings = logs.linesWith("warn");
  ASSERT_EQ(warnings.size(), 1U) << ::testing::PrintToString(logs.linesWith(""));
  for (const char* part : {"shm cannot connect", "bytes wanted", "RONDO_CHUNK_BYTES"})
    EXPECT_NE(warnings.front().find(part), std::string::npos) << warnings.front();
}

TEST(FullArena, IsAnErrorOnAllRanksWithoutTcp) {
  const RankLogs logs;
  ForkedRanks processes(kRanks, [&](int rank, const rondoUniqueId_t& id) {
    logs.capture(rank);
    wishForLargeSlots("shm");
    rondoComm_t comm = joinOrExit(kRanks, rank, id);
    std::vector<float> data(kManyElements);
    const rondoResult_t result = rondoAllReduce(data.data(), data.data(), data.size(), rondoFloat32,
                                                rondoSum, comm, nullptr);
    return expectFailure(comm, result, rondoOutOfMemory, {"bytes"});
  });
  processes.expectSuccess();
  EXPECT_FALSE(HasFailure()) << ::testing::PrintToString(logs.linesWith(""));
}

}  // namespace
}  // namespace rondo::testing
