#include "src/net/quiet_thread.h"

#include <csignal>
#include <string>
#include <system_error>
#include <utility>

#include <pthread.h>

namespace rondo {

namespace {

/// Blocks the signals of the calling thread, and with it of threads it starts, until it goes.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
      ::sigdelset(&all, fault);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }

  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  SignalsBlocked(SignalsBlocked&&) = delete;
  SignalsBlocked& operator=(SignalsBlocked&&) = delete;

  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

Result<std::thread> startQuietThread(std::string_view name, std::function<void()> body) {
  const SignalsBlocked blocked;
  try {
    return std::thread([title = std::string(name), run = std::move(body)] {
      (void)::pthread_setname_np(::pthread_self(), title.c_str());
      run();
    });
  } catch (const std::system_error& failure) {
    return Status::systemError("cannot start thread {}: {}; raise the limit on processes", name,
                               failure.what());
  }
}

}  // namespace rondo
