#include "src/nccl/calls_underway.h"

#include <utility>

#include "src/communicator_handles.h"

namespace rondo::nccl {

CallsUnderway& CallsUnderway::ofProcess() {
  static CallsUnderway calls;
  return calls;
}

bool CallsUnderway::enter(rondoComm_t comm) {
  const std::lock_guard lock(mutex_);
  if (retired_.contains(comm)) return false;
  ++calls_[comm];
  return true;
}

void CallsUnderway::leave(rondoComm_t comm) {
  const std::lock_guard lock(mutex_);
  const auto place = calls_.find(comm);
  if (--place->second > 0) return;
  calls_.erase(place);
  left_.notify_all();
}

bool CallsUnderway::retire(rondoComm_t comm, std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  retired_.insert(comm);
  return left_.wait_for(lock, patience, [&] { return !calls_.contains(comm); });
}

void CallsUnderway::forget(rondoComm_t comm) {
  const std::lock_guard lock(mutex_);
  retired_.erase(comm);
}

// A handle is looked up before the lock is taken: in a process that was forked off, where another
// thread may have held the lock, it is refused already.
Underway::Underway(rondoComm_t comm) {
  if (!findCommunicator(comm).ok()) return;
  allowed_ = CallsUnderway::ofProcess().enter(comm);
  if (allowed_) comm_ = comm;
}

Underway::~Underway() {
  if (comm_ != nullptr) CallsUnderway::ofProcess().leave(comm_);
}

Underway::Underway(Underway&& other) noexcept
    : comm_(std::exchange(other.comm_, nullptr)), allowed_(other.allowed_) {}

}  // namespace rondo::nccl
