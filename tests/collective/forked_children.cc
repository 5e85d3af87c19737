#include "tests/collective/forked_children.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <sanitizer/lsan_interface.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

const pid_t program = ::getpid();

}  // namespace

/// Asked by LeakSanitizer, where that is linked: not in children. What threads of the parent hold
/// by their stacks and thread-locals alone is lost in a child, which has none of them, and is no
/// leak.
int __lsan_is_turned_off() {
  return ::getpid() != program ? 1 : 0;
}

namespace rondo::testing {

namespace {

pid_t forkChild(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  return child;
}

int touchMemory() {
  constexpr std::size_t kBytes = 10000000;
  const std::vector<char> memory(kBytes, 1);
  return memory.back() - 1;
}

int useCommunicator(rondoComm_t comm) {
  float one = 1;
  const rondoResult_t result = rondoAllReduce(&one, &one, 1, rondoFloat32, rondoSum, comm, nullptr);
  const std::string why = rondoGetLastError(comm);
  int rank = 0;
  const bool refused =
      result == rondoInvalidUsage && why.find("used after fork") != std::string::npos &&
      rondoCommRank(comm, &rank) == rondoInvalidUsage && rondoCommAbort(comm) == rondoInvalidUsage;
  if (!refused) std::fprintf(stderr, "in a child: result %d \"%s\"\n", result, why.c_str());
  return refused && rondoCommDestroy(comm) == rondoSuccess ? 0 : 1;
}

bool endsWell(pid_t child, std::chrono::steady_clock::time_point deadline) {
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
      std::fprintf(stderr, "a forked child hangs\n");
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  if (status != 0) std::fprintf(stderr, "a forked child ended with status %d\n", status);
  return status == 0;
}

}  // namespace

int forkChildren(rondoComm_t comm) {
  std::vector<pid_t> children;
  for (int loader = 0; loader < 4; ++loader)
    children.push_back(forkChild(touchMemory));
  children.push_back(forkChild([]() -> int { std::exit(0); }));  // NOLINT(concurrency-mt-unsafe)
  children.push_back(forkChild([comm] { return useCommunicator(comm); }));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  int wrong = 0;
  for (const pid_t child : children)
    wrong += endsWell(child, deadline) ? 0 : 1;
  return wrong;
}

int sumExactly(rondoComm_t comm, int ranks, int rank) {
  constexpr int kRounds = 100;
  constexpr std::size_t kCount = 5000;
  int wrong = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<float> data(kCount, static_cast<float>(rank + round));
    const rondoResult_t result =
        rondoAllReduce(data.data(), data.data(), kCount, rondoFloat32, rondoSum, comm, nullptr);
    const auto sum = static_cast<float>(ranks * (ranks - 1) / 2 + ranks * round);
    bool right = result == rondoSuccess;
    for (const float element : data)
      right &= element == sum;
    wrong += right ? 0 : 1;
  }
  return wrong;
}

}  // namespace rondo::testing
