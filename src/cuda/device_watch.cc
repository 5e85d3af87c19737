#include "src/cuda/device_watch.h"

#include <span>
#include <utility>

#include "kernels/memory_order.h"
#include "src/message_stall.h"
#include "src/net/quiet_thread.h"

namespace rondo::cuda {

namespace {

using std::chrono::milliseconds;

/// Between looks at the oldest launch.
constexpr std::chrono::microseconds kLook{2000};

/// The same when somebody waits for it to end.
constexpr std::chrono::microseconds kHurriedLook{50};

/// Between looks at what graphs may replay.
constexpr milliseconds kLookAtCaptured{10};

}  // namespace

Result<std::unique_ptr<DeviceWatch>> DeviceWatch::start(int rank,
                                                        std::shared_ptr<const Device> device,
                                                        std::shared_ptr<RankGroup> group,
                                                        const DeviceJudge& judge,
                                                        const MessageJudge& messageJudge) {
  std::unique_ptr<DeviceWatch> watch(
      new DeviceWatch(rank, std::move(device), std::move(group), judge, messageJudge));
  Result<Memory> flag = watch->device_->allocateOnHost(sizeof(CounterLine));
  RONDO_RETURN_IF_ERROR(flag.status());
  watch->abortFlag_ = *std::move(flag);
  Result<std::thread> thread = startQuietThread("rondo-watch", [&self = *watch] { self.run(); });
  RONDO_RETURN_IF_ERROR(thread.status());
  watch->thread_ = *std::move(thread);
  return watch;
}

DeviceWatch::DeviceWatch(int rank,
                         std::shared_ptr<const Device> device,
                         std::shared_ptr<RankGroup> group,
                         const DeviceJudge& judge,
                         const MessageJudge& messageJudge)
    : rank_(rank),
      device_(std::move(device)),
      group_(std::move(group)),
      judge_(judge),
      messageJudge_(messageJudge) {}

DeviceWatch::~DeviceWatch() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  const CurrentDevice current(*device_);
  for (const Launched& launched : launched_) {
    if (launched.done != nullptr) (void)device_->driver().eventDestroy(launched.done);
  }
  for (const Event event : idleEvents_)
    (void)device_->driver().eventDestroy(event);
}

void DeviceWatch::begin(const CallSignature& call, const DeviceOperation& operation) {
  {
    const std::scoped_lock lock(mutex_);
    launched_.push_back({.wait = {.call = call}, .operation = &operation});
  }
  changed_.notify_all();
}

void DeviceWatch::begin(std::unique_ptr<const DeviceMessages> messages) {
  {
    const std::scoped_lock lock(mutex_);
    launched_.emplace_back().messages = std::move(messages);
  }
  changed_.notify_all();
}

Status DeviceWatch::launched(Stream stream) {
  const CurrentDevice current(*device_);
  const Result<Event> event = takeEvent();
  RONDO_RETURN_IF_ERROR(event.status());
  const int recorded = device_->driver().eventRecord(*event, stream);
  const std::scoped_lock lock(mutex_);
  if (recorded == kSuccess) {
    launched_.back().done = *event;
    return {};
  }
  idleEvents_.push_back(*event);
  return device_->driver().check(recorded, "noting the end of a launch");
}

void DeviceWatch::cancel() {
  const std::scoped_lock lock(mutex_);
  launched_.back().cancelled = true;
}

Result<Event> DeviceWatch::takeEvent() {
  {
    const std::scoped_lock lock(mutex_);
    if (!idleEvents_.empty()) {
      const Event event = idleEvents_.back();
      idleEvents_.pop_back();
      return event;
    }
  }
  Event event = nullptr;
  RONDO_RETURN_IF_ERROR(device_->driver().check(
      device_->driver().eventCreate(&event, kEventDisableTiming), "making an event"));
  return event;
}

bool DeviceWatch::flush(Deadline deadline) {
  std::unique_lock lock(mutex_);
  const auto over = [this] { return launched_.empty(); };
  if (deadline.never()) {
    changed_.wait(lock, over);
  } else if (!changed_.wait_until(lock, deadline.time(), over)) {
    return false;
  }
  return !lost_;
}

Status DeviceWatch::settle() {
  std::unique_lock lock(mutex_);
  hurried_ = true;
  changed_.notify_all();
  while (!changed_.wait_for(lock, kLook, [this] { return launched_.empty(); })) {
    // A kernel that has not begun yet does not see it.
    if (host::flagRaised(group_->failedFlag())) break;
  }
  hurried_ = false;
  return group_->failure();
}

bool DeviceWatch::busy() {
  const std::scoped_lock lock(mutex_);
  return !launched_.empty() || !captured_.empty();
}

void DeviceWatch::giveUp() {
  host::raiseFlag(*abortFlag_.onHost<std::uint32_t>());
}

void DeviceWatch::run() {
  const CurrentDevice current(*device_);
  // Asking for events must not end what another thread captures.
  int mode = kCaptureModeRelaxed;
  (void)device_->driver().exchangeCaptureMode(&mode);
  std::unique_lock lock(mutex_);
  while (!ending_) {
    const std::vector<const DeviceOperation*> captured = captured_;
    lock.unlock();
    lookAtCaptured(captured);
    lock.lock();
    if (launched_.empty()) {
      const auto changed = [&] {
        return ending_ || !launched_.empty() || captured.size() != captured_.size();
      };
      if (captured_.empty()) {
        changed_.wait(lock, changed);
      } else {
        changed_.wait_for(lock, kLookAtCaptured, changed);
      }
      continue;
    }
    // Others only add behind the first.
    lock.unlock();
    const bool more = lookAtFirst();
    lock.lock();
    const auto nap = hurried_ ? kHurriedLook : kLook;
    if (!more) changed_.wait_for(lock, nap, [&] { return ending_ || (nap == kLook && hurried_); });
  }
}

/// @return whether the first launch was complete, and the next may be
bool DeviceWatch::lookAtFirst() {
  Launched* first = nullptr;
  Event done = nullptr;
  bool cancelled = false;
  {
    const std::scoped_lock lock(mutex_);
    first = &launched_.front();
    done = first->done;
    cancelled = first->cancelled;
  }
  int result = kNotReady;
  if (cancelled) {
    result = kSuccess;
  } else if (done != nullptr) {
    result = device_->driver().eventQuery(done);
  }
  if (result == kNotReady) {
    judgeFirst(*first);
    return false;
  }
  if (result != kSuccess) {
    const std::string what =
        first->operation == nullptr ? "messages" : describeCall(first->wait.call);
    group_->fail(device_->driver().check(
        result, fmt::format("rank {}: {} on {}", rank_, what, device_->name())));
    giveUp();
  } else if (!cancelled) {
    finishFirst(*first);
  }
  {
    const std::scoped_lock lock(mutex_);
    lost_ |= result != kSuccess;
    if (done != nullptr) idleEvents_.push_back(done);
    launched_.pop_front();
    if (!launched_.empty()) {
      launched_.front().wait.since = std::chrono::steady_clock::now();
      launched_.front().messageWait.since = launched_.front().wait.since;
    }
  }
  changed_.notify_all();
  return true;
}

void DeviceWatch::finishFirst(const Launched& first) {
  if (first.operation == nullptr) return finishMessages(*first.messages);
  if (failedBy(*first.operation, first.wait.call)) return;
  // Lines carry no call: that the others made the same one is seen in their records, which they
  // wrote before they launched.
  const Status same = judge_.compareCalls(first.wait.call);
  if (!same.ok()) return group_->fail(same);
  group_->record(rank_).finish(first.wait.call.sequence);
}

void DeviceWatch::finishMessages(const DeviceMessages& messages) {
  if (!messages.failed()) return group_->record(rank_).finishMessages();
  const auto mismatch = messages.mismatch();
  if (!mismatch.has_value()) return;
  group_->fail(messageMismatch(rank_, messages.list(), *mismatch));
  giveUp();
}

/// Whether some kernel of `operation` has failed; a mismatch ends the communicator.
bool DeviceWatch::failedBy(const DeviceOperation& operation, const CallSignature& call) {
  const std::span reports(operation.reports.onHost<device::Report>(),
                          static_cast<std::size_t>(operation.plan.channels));
  for (device::Report& report : reports) {
    const std::uint64_t state = host::observeCounter(report.state);
    if (state == device::Report::kMismatch) {
      group_->fail(judge_.mismatch(call, report.peer, report.otherCall));
      giveUp();
    }
    if (state != device::Report::kNoFailure) return true;
  }
  return false;
}

Status DeviceWatch::failureOf(const DeviceOperation& operation, const CallSignature& call) {
  return failedBy(operation, call) ? group_->failure() : Status();
}

void DeviceWatch::addCaptured(const DeviceOperation& operation) {
  {
    const std::scoped_lock lock(mutex_);
    captured_.push_back(&operation);
  }
  changed_.notify_all();
}

void DeviceWatch::lookAtCaptured(const std::vector<const DeviceOperation*>& captured) {
  if (captured.empty()) return;
  if (host::flagRaised(group_->failedFlag())) giveUp();
  for (const DeviceOperation* operation : captured)
    (void)failedBy(*operation, {});
}

void DeviceWatch::judgeFirst(Launched& first) {
  const Status judged = first.operation == nullptr
                            ? messageJudge_.judge(first.messageWait, *first.messages)
                            : judgeOperation(first);
  if (judged.ok()) return;
  group_->fail(judged);
  giveUp();
}

Status DeviceWatch::judgeOperation(Launched& first) const {
  const host::Blocked blocked = blockedOn(first);
  // Until its kernel says that it waits, it may be the stream's earlier work that takes its time.
  if (blocked.peer < 0) first.wait.since = std::chrono::steady_clock::now();
  return judge_.judge(first.wait, blocked);
}

host::Blocked DeviceWatch::blockedOn(const Launched& launched) const {
  const std::span reports(launched.operation->reports.onHost<device::Report>(),
                          static_cast<std::size_t>(launched.operation->plan.channels));
  for (device::Report& report : reports) {
    const std::uint64_t wait = host::observeCounter(report.waits);
    const int peer = device::Report::waitingFor(wait, launched.wait.call.fingerprint());
    if (peer != 0) return {std::abs(peer) - 1, peer > 0};
  }
  return {};
}

}  // namespace rondo::cuda
