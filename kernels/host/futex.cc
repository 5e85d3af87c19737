#include "kernels/host/futex.h"

#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rondo::host {

void futexWait(std::uint32_t& word, std::uint32_t expected, std::chrono::microseconds atMost) {
  constexpr std::int64_t kMicrosecondsPerSecond = 1000000;
  const timespec limit{static_cast<time_t>(atMost.count() / kMicrosecondsPerSecond),
                       static_cast<long>(atMost.count() % kMicrosecondsPerSecond * 1000)};
  // Not FUTEX_PRIVATE: the word may lie in memory of several processes.
  (void)::syscall(SYS_futex, &word, FUTEX_WAIT, expected, &limit, nullptr, 0);
}

void futexWake(std::uint32_t& word) {
  (void)::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

}  // namespace rondo::host
