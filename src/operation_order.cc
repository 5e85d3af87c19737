#include "src/operation_order.h"

#include <chrono>

#include "kernels/memory_order.h"

namespace rondo {

namespace {

/// How often who waits for a turn looks whether the communicator has failed, of which nobody tells.
constexpr std::chrono::milliseconds kLook{10};

}  // namespace

bool OperationOrder::allServed() {
  return host::observeCounter(served_) == host::observeCounter(issued_);
}

bool OperationOrder::failed() {
  return failed_ == nullptr || host::flagRaised(*failed_);
}

OperationOrder::Ticket OperationOrder::issue() {
  const std::scoped_lock lock(mutex_);
  const Ticket ticket = issued_;
  host::postCounter(issued_, ticket + 1);
  return ticket;
}

OperationOrder::Turn OperationOrder::waitTurn(Ticket ticket) {
  {
    std::unique_lock lock(mutex_);
    while (host::observeCounter(served_) != ticket && !failed())
      changed_.wait_for(lock, kLook);
  }
  running_.lock();
  Turn turn(*this, ticket);
  const std::scoped_lock lock(mutex_);
  if (closed_.ok()) return turn;
  return Turn(closed_);
}

OperationOrder::Turn OperationOrder::waitTurn() {
  running_.lock();
  if (allServed()) [[likely]]
    return {*this, kNoTicket};
  running_.unlock();
  return waitTurn(issue());
}

OperationOrder::Turn OperationOrder::tryTurn() {
  if (!running_.try_lock()) return {};
  Turn turn(*this, kNoTicket);
  return allServed() ? std::move(turn) : Turn();
}

bool OperationOrder::issueNote(std::function<void()>& note) {
  const std::scoped_lock lock(mutex_);
  // While something is issued, somebody will come by to complete it.
  if (allServed()) return false;
  const Ticket ticket = issued_;
  notes_.push_back({ticket, std::move(note)});
  host::postCounter(issued_, ticket + 1);
  return true;
}

void OperationOrder::leaveNote(std::function<void()> note) {
  if (issueNote(note)) return;
  const Turn turn = tryTurn();
  if (turn.given()) note();
}

void OperationOrder::close(const Status& why) {
  const Turn turn = waitTurn();
  const std::scoped_lock lock(mutex_);
  notes_.clear();
  failed_ = nullptr;
  closed_ = why;
  changed_.notify_all();
}

void OperationOrder::end(Ticket ticket) {
  if (ticket != kNoTicket) serve(ticket);
  running_.unlock();
}

void OperationOrder::serve(Ticket ticket) {
  const std::scoped_lock lock(mutex_);
  // After a failure turns are out of order, and nobody waits for this number any more.
  if (served_ != ticket) return;
  ++ticket;
  for (; !notes_.empty() && notes_.front().ticket == ticket; ++ticket) {
    notes_.front().run();
    notes_.pop_front();
  }
  host::postCounter(served_, ticket);
  changed_.notify_all();
}

}  // namespace rondo
