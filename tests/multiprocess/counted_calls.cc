#include "tests/multiprocess/counted_calls.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <ctime>

#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rondo::testing {

namespace {

constinit thread_local bool counting = false;
constinit thread_local CallCounts counts;

void count(std::int64_t CallCounts::*what) {
  if (counting) ++(counts.*what);
}

/// The C library's function of that name.
template <class Function>
Function* following(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

void countTrapped(int /*signal*/, siginfo_t* info, void* /*context*/) {
  count(&CallCounts::systemCalls);
  if (counting) counts.lastSystemCall = info->si_syscall;
}

}  // namespace

bool countSystemCalls() {
  struct sigaction action {};

  action.sa_sigaction = countTrapped;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (::sigaction(SIGSYS, &action, nullptr) != 0) return false;
  constexpr std::array kPassing{SYS_rt_sigreturn, SYS_exit_group, SYS_write, SYS_sched_yield,
                                SYS_futex};
  // NOLINTBEGIN(modernize-avoid-c-arrays): what the macros and the kernel want
  std::array<sock_filter, kPassing.size() + 3> rules{};
  rules[0] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  for (std::size_t i = 0; i < kPassing.size(); ++i) {
    const auto toTheEnd = static_cast<std::uint8_t>(kPassing.size() - i);
    rules[i + 1] =
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(kPassing[i]), toTheEnd, 0);
  }
  rules[kPassing.size() + 1] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  rules[kPassing.size() + 2] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  // NOLINTEND(modernize-avoid-c-arrays)
  const sock_fprog program{rules.size(), rules.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

void startCounting() {
  counts = {};
  counting = true;
}

CallCounts stopCounting() {
  counting = false;
  return counts;
}

}  // namespace rondo::testing

// The functions that stand before the C library's: count, then do what those do.
using rondo::testing::CallCounts;

extern "C" {

// What glibc offers programs with a malloc of their own.
void* __libc_malloc(std::size_t bytes);                           // NOLINT
void* __libc_calloc(std::size_t count, std::size_t bytes);        // NOLINT
void* __libc_realloc(void* memory, std::size_t bytes);            // NOLINT
void* __libc_memalign(std::size_t alignment, std::size_t bytes);  // NOLINT
void __libc_free(void* memory);                                   // NOLINT

void* malloc(std::size_t bytes) {
  rondo::testing::count(&CallCounts::allocations);
  return __libc_malloc(bytes);
}

void* calloc(std::size_t count, std::size_t bytes) {
  rondo::testing::count(&CallCounts::allocations);
  return __libc_calloc(count, bytes);
}

void* realloc(void* memory, std::size_t bytes) {
  rondo::testing::count(&CallCounts::allocations);
  return __libc_realloc(memory, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  rondo::testing::count(&CallCounts::allocations);
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  rondo::testing::count(&CallCounts::allocations);
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}

void free(void* memory) {
  rondo::testing::count(&CallCounts::allocations);
  __libc_free(memory);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const auto real = rondo::testing::following<int(pthread_mutex_t*)>("pthread_mutex_lock");
  rondo::testing::count(&CallCounts::locks);
  return real(mutex);
}

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  static const auto real =
      rondo::testing::following<int(pthread_rwlock_t*)>("pthread_rwlock_rdlock");
  rondo::testing::count(&CallCounts::locks);
  return real(lock);
}

int clock_gettime(clockid_t clock, timespec* time) {
  static const auto real = rondo::testing::following<int(clockid_t, timespec*)>("clock_gettime");
  rondo::testing::count(&CallCounts::clockReads);
  return real(clock, time);
}

long syscall(long number, ...) {  // NOLINT: as the C library declares it
  static const auto real = rondo::testing::following<long(long, ...)>("syscall");
  if (number == SYS_futex) rondo::testing::count(&CallCounts::sleeps);
  std::va_list list;
  va_start(list, number);
  std::array<long, 6> words{};
  for (long& word : words)
    word = va_arg(list, long);
  va_end(list);
  return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

int sched_yield() {
  rondo::testing::count(&CallCounts::yields);
  return static_cast<int>(::syscall(SYS_sched_yield));
}

}  // extern "C"
