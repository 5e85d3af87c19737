// Which communicators have calls underway. ncclCommAbort frees a communicator, and may be called
// while other threads are in its calls, which on host memory last until they are done: it has them
// end, and waits for them here before it frees what they use.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

#include "rondo/rondo.h"

namespace rondo::nccl {

/// @threads any
class CallsUnderway {
 public:
  static CallsUnderway& ofProcess();

  /// A call on `comm` begins. False, and no call, if the communicator is retired.
  bool enter(rondoComm_t comm);

  /// It ends.
  void leave(rondoComm_t comm);

  /// Lets no further call begin, and waits for those underway.
  /// @return false if some are after `patience`.
  bool retire(rondoComm_t comm, std::chrono::milliseconds patience);

  /// Forgets a retired communicator, once its handle is refused anyway.
  void forget(rondoComm_t comm);

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  std::map<rondoComm_t, int> calls_;
  std::set<rondoComm_t> retired_;
};

/// A call on a communicator, from construction to destruction.
class Underway {
 public:
  /// Handles that stand for nothing are left for the call itself to refuse.
  explicit Underway(rondoComm_t comm);
  ~Underway();
  Underway(const Underway&) = delete;
  Underway& operator=(const Underway&) = delete;
  Underway(Underway&& other) noexcept;
  Underway& operator=(Underway&&) = delete;

  /// Whether the call may go on: the communicator is not being aborted.
  bool allowed() const { return allowed_; }

 private:
  rondoComm_t comm_ = nullptr;  // null: nothing to leave
  bool allowed_ = true;
};

}  // namespace rondo::nccl
