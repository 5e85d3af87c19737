#include "src/communicator_entry.h"

#include <utility>

#include "kernels/memory_order.h"
#include "src/stream_task.h"

namespace rondo {

CommunicatorEntry::CommunicatorEntry(std::unique_ptr<Communicator> communicator)
    : state_(kMade), communicator_(std::move(communicator)) {}

Result<std::unique_ptr<CommunicatorEntry>> CommunicatorEntry::withWorker(
    std::unique_ptr<Communicator> communicator) {
  std::unique_ptr<CommunicatorEntry> entry(new CommunicatorEntry);
  RONDO_RETURN_IF_ERROR(entry->startWorker());
  RONDO_RETURN_IF_ERROR(entry->publish(std::move(communicator)));
  return entry;
}

Result<std::unique_ptr<CommunicatorEntry>> CommunicatorEntry::making(
    Maker maker, GivenUpFlag givenUp, std::optional<IssuedPlace> place) {
  std::unique_ptr<CommunicatorEntry> entry(new CommunicatorEntry);
  entry->givenUp_ = std::move(givenUp);
  RONDO_RETURN_IF_ERROR(entry->startWorker());
  entry->worker_->enqueue(InTurnTask(
      [self = entry.get(), maker = std::move(maker)] { return self->publish(maker()); },
      [self = entry.get()](const Status& why) { (void)self->publish(why); }, std::move(place)));
  return entry;
}

CommunicatorEntry::~CommunicatorEntry() {
  host::raiseFlag(*givenUp_);
  worker_.reset();
}

Status CommunicatorEntry::startWorker() {
  Result<std::unique_ptr<HostStream>> worker = HostStream::start();
  RONDO_RETURN_IF_ERROR(worker.status());
  worker_ = *std::move(worker);
  return {};
}

/// @return ok: a failure of making lasts, and is not told once only
Status CommunicatorEntry::publish(Result<std::unique_ptr<Communicator>> made) {
  const std::scoped_lock lock(mutex_);
  if (!made.ok()) {
    failure_ = std::move(made).status();
    host::postCounter(state_, kFailed);
    return {};
  }
  communicator_ = *std::move(made);
  communicator_->carryOutBy(*worker_);
  if (host::flagRaised(*givenUp_)) communicator_->abort();
  host::postCounter(state_, kMade);
  return {};
}

Status CommunicatorEntry::whyNone() {
  if (host::flagRaised(*givenUp_))
    return Status::aborted("the communicator was aborted while it was being made");
  if (host::observeCounter(state_) == kMaking)
    return Status::inProgress("the communicator is still being made");
  return failure_;
}

void CommunicatorEntry::abort() {
  const std::scoped_lock lock(mutex_);
  if (host::observeCounter(state_) == kMade) return communicator_->abort();
  host::raiseFlag(*givenUp_);
}

Status CommunicatorEntry::lastingFailure() {
  Communicator* const made = communicator();
  return made != nullptr ? made->asyncError() : whyNone();
}

Status CommunicatorEntry::asyncError() {
  RONDO_RETURN_IF_ERROR(lastingFailure());
  return worker_ != nullptr ? worker_->takeOutcome() : Status{};
}

Status CommunicatorEntry::synchronize() {
  if (worker_ == nullptr) return lastingFailure();
  Status failure = worker_->synchronize();
  RONDO_RETURN_IF_ERROR(lastingFailure());
  return failure;
}

}  // namespace rondo
