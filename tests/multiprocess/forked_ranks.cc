#include "tests/multiprocess/forked_ranks.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <new>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rondo::testing {

ForkedRanks::ForkedRanks(int ranks, const RankBody& body) {
  // The id comes from a process of its own, so that this one has no threads when it forks.
  int ids[2];
  if (::pipe(ids) != 0) std::abort();
  rondoUniqueId_t id;
  const pid_t root = ::fork();
  if (root == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (rondoGetUniqueId(&id) != rondoSuccess)
      std::fprintf(stderr, "%s\n", rondoGetLastError(nullptr));
    const bool written = ::write(ids[1], &id, sizeof id) == sizeof id;
    if (written) ::pause();
    ::_exit(1);
  }
  processes_.push_back(root);
  if (::read(ids[0], &id, sizeof id) != sizeof id) ADD_FAILURE() << "no unique id";
  ::close(ids[0]);
  ::close(ids[1]);
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t process = ::fork();
    if (process == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int status = body(rank, id);
      std::fflush(nullptr);
      ::_exit(status);
    }
    processes_.push_back(process);
  }
}

ForkedRanks::~ForkedRanks() {
  for (const pid_t process : processes_) {
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
  }
}

void ForkedRanks::signal(int rank, int number) const {
  ::kill(processes_[static_cast<std::size_t>(rank) + 1], number);
}

void ForkedRanks::expectSuccess(std::chrono::milliseconds limit, int victim) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (int rank = 0; rank + 1 < static_cast<int>(processes_.size()); ++rank) {
    if (rank == victim) continue;
    int status = 0;
    pid_t ended = 0;
    while (ended == 0 && std::chrono::steady_clock::now() < deadline) {
      ended = ::waitpid(processes_[static_cast<std::size_t>(rank) + 1], &status, WNOHANG);
      if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds{2});
    }
    EXPECT_NE(ended, 0) << "rank " << rank << " did not end in " << limit.count() << " ms";
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << "rank " << rank << " exit status " << WEXITSTATUS(status) << " signal "
        << (WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  }
}

Milestone::Milestone() {
  void* const shared = ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) std::abort();
  passed_ = new (shared) std::atomic<int>(0);
}

Milestone::~Milestone() {
  ::munmap(passed_, sizeof *passed_);
}

bool Milestone::await(int ranks) const {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes{1};
  while (*passed_ < ranks) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return true;
}

RankLogs::RankLogs() {
  std::string pattern = (std::filesystem::temp_directory_path() / "rondo_logs_XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) std::abort();
  folder_ = pattern;
}

RankLogs::~RankLogs() {
  std::filesystem::remove_all(folder_);
}

void RankLogs::capture(int rank) const {
  const std::string file = (folder_ / std::to_string(rank)).string();
  (void)std::freopen(file.c_str(), "w", stderr);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
}

std::string RankLogs::textOf(int rank) const {
  std::ifstream stream(folder_ / std::to_string(rank));
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::string> RankLogs::linesWith(const std::string& part) const {
  std::vector<std::string> found;
  for (const auto& file : std::filesystem::directory_iterator(folder_)) {
    std::ifstream stream(file.path());
    for (std::string line; std::getline(stream, line);) {
      if (line.find(part) != std::string::npos) found.push_back(line);
    }
  }
  return found;
}

rondoComm_t joinOrExit(int ranks,
                       int rank,
                       const rondoUniqueId_t& id,
                       std::int64_t operationTimeoutMs) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.operationTimeoutMs = operationTimeoutMs;
  config.initTimeoutMs = 20000;
  rondoComm_t comm = nullptr;
  if (rondoCommInitRank(&comm, ranks, id, rank, &config) == rondoSuccess) return comm;
  std::fprintf(stderr, "rank %d: %s\n", rank, rondoGetLastError(nullptr));
  ::_exit(100);
}

int expectFailure(rondoComm_t comm,
                  rondoResult_t result,
                  rondoResult_t wanted,
                  const std::vector<std::string>& words) {
  const std::string message = rondoGetLastError(comm);
  bool right = result == wanted;
  for (const std::string& word : words)
    right &= message.find(word) != std::string::npos;
  if (!right) std::fprintf(stderr, "result %d message \"%s\"\n", result, message.c_str());
  return right ? 0 : 1;
}

}  // namespace rondo::testing
