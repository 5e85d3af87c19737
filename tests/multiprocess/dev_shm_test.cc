// Field tests C01 and C02: whatever state /dev/shm is in, ranks of one host share memory and leave
// nothing there. Each test has a mount namespace of its own, so that it can spoil /dev/shm for
// itself.

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "rondo/rondo.h"
#include "tests/multiprocess/forked_ranks.h"

namespace rondo::testing {
namespace {

constexpr int kRanks = 3;
constexpr const char* kFolder = "/dev/shm";

/// All-reduces more than a tiny /dev/shm holds; what a rank's process runs.
int sumMuch(int rank, const rondoUniqueId_t& id) {
  constexpr std::size_t kCount = std::size_t{2} << 20;
  rondoComm_t comm = joinOrExit(kRanks, rank, id);
  std::vector<float> data(kCount, static_cast<float>(rank + 1));
  const rondoResult_t result =
      rondoAllReduce(data.data(), data.data(), kCount, rondoFloat32, rondoSum, comm, nullptr);
  for (const float element : data) {
    if (result != rondoSuccess || element != 6.0F) return 1;
  }
  return rondoCommDestroy(comm) == rondoSuccess ? 0 : 2;
}

class DevShm : public ::testing::Test {
 protected:
  /// A namespace of this process's own, or a skip.
  void SetUp() override {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      GTEST_SKIP() << "needs the right to make mount namespaces: " << std::strerror(errno);
    }
  }

  static void mountOver(const char* folder, const char* options) {
    ASSERT_EQ(::mount("tmpfs", folder, "tmpfs", 0, options), 0) << std::strerror(errno);
  }

  static void expectSums() {
    ForkedRanks processes(kRanks, sumMuch);
    processes.expectSuccess();
  }

  static std::size_t entries() {
    const std::filesystem::directory_iterator all(kFolder);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
};

TEST_F(DevShm, MayBeTiny) {
  mountOver(kFolder, "size=4m");
  expectSums();
  EXPECT_EQ(entries(), 0U);
}

TEST_F(DevShm, MayBeFull) {
  mountOver(kFolder, "size=1m");
  std::ofstream filler(std::filesystem::path(kFolder) / "filler");
  const std::vector<char> block(1 << 16);
  while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
  }
  expectSums();
  EXPECT_EQ(entries(), 1U);
}

/// Ten times one rank is killed, ten times both, sooner and later.
TEST_F(DevShm, C02KilledRanksLeaveNothing) {
  mountOver(kFolder, "size=4m");
  for (int round = 0; round < 20; ++round) {
    ForkedRanks processes(2, [](int rank, const rondoUniqueId_t& id) {
      rondoComm_t comm = joinOrExit(2, rank, id);
      while (rondoBarrier(comm, nullptr) == rondoSuccess) {
      }
      return 0;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds{5 * round});
    processes.signal(0, SIGKILL);
    if (round % 2 == 0) processes.signal(1, SIGKILL);
  }
  EXPECT_EQ(entries(), 0U);
}

/// The last: it leaves no /dev to this process.
TEST_F(DevShm, MayBeAbsent) {
  mountOver("/dev", "size=1m");
  constexpr mode_t kDevice = S_IFCHR | 0666;
  ASSERT_EQ(::mknod("/dev/null", kDevice, makedev(1, 3)), 0);
  ASSERT_EQ(::mknod("/dev/urandom", kDevice, makedev(1, 9)), 0);
  ASSERT_FALSE(std::filesystem::exists(kFolder));
  expectSums();
  EXPECT_FALSE(std::filesystem::exists(kFolder));
}

}  // namespace
}  // namespace rondo::testing
