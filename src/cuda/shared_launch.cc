#include "src/cuda/shared_launch.h"

#include <algorithm>
#include <utility>

#include "kernels/cuda/coded_executor.h"
#include "kernels/cuda/executor.h"

namespace rondo::cuda {

Result<std::unique_ptr<SharedLaunch>> SharedLaunch::make(std::shared_ptr<const Device> device,
                                                         std::vector<int> ranks) {
  if (ranks.size() > static_cast<std::size_t>(device::kMaxLaunchRanks)) {
    return Status::notSupported("{} ranks of one process on {}: at most {} are possible",
                                ranks.size(), device->name(), device::kMaxLaunchRanks);
  }
  std::unique_ptr<SharedLaunch> made(new SharedLaunch(std::move(device), std::move(ranks)));
  RONDO_RETURN_IF_ERROR(made->makeEvents());
  return made;
}

SharedLaunch::SharedLaunch(std::shared_ptr<const Device> device, std::vector<int> ranks)
    : device_(std::move(device)),
      ranks_(std::move(ranks)),
      meeting_(static_cast<int>(ranks_.size())),
      parts_(ranks_.size()),
      ready_(ranks_.size(), nullptr),
      messages_(ranks_.size()) {}

SharedLaunch::~SharedLaunch() {
  const CurrentDevice current(*device_);
  for (const Event event : ready_) {
    if (event != nullptr) (void)device_->driver().eventDestroy(event);
  }
  for (const MemberMessages& messages : messages_) {
    if (messages.done != nullptr) (void)device_->driver().eventDestroy(messages.done);
  }
  if (done_ != nullptr) (void)device_->driver().eventDestroy(done_);
}

Status SharedLaunch::makeEvents() {
  const CurrentDevice current(*device_);
  for (Event& event : ready_)
    RONDO_RETURN_IF_ERROR(check(device_->driver().eventCreate(&event, kEventDisableTiming)));
  return check(device_->driver().eventCreate(&done_, kEventDisableTiming));
}

Status SharedLaunch::check(int result) const {
  return device_->driver().check(result, fmt::format("launching on {}", device_->name()));
}

Status SharedLaunch::launch(int rank,
                            const LaunchPart& part,
                            const std::function<Status()>& check) {
  const CurrentDevice current(*device_);
  if (members() == 1) return launchAlone(part);
  const std::size_t member = memberOf(rank);
  const Driver& driver = device_->driver();
  parts_[member] = part;
  RONDO_RETURN_IF_ERROR(this->check(driver.eventRecord(ready_[member], part.stream)));
  RONDO_RETURN_IF_ERROR(meeting_.meet([&] { return launchAll(member, check); }, check));
  return this->check(driver.streamWaitEvent(part.stream, done_, 0));
}

std::size_t SharedLaunch::memberOf(int rank) const {
  return static_cast<std::size_t>(std::ranges::find(ranks_, rank) - ranks_.begin());
}

Status SharedLaunch::checkMessageStream(int rank, Stream stream) {
  const std::scoped_lock lock(messagesMutex_);
  for (std::size_t member = 0; member < messages_.size(); ++member) {
    const MemberMessages& theirs = messages_[member];
    if (ranks_[member] == rank || !theirs.launched || theirs.stream != stream) continue;
    if (theirs.recorded && device_->driver().eventQuery(theirs.done) != kNotReady) continue;
    return Status::invalidUsage(
        "rank {}: messages on stream {}, on which messages of rank {}, which shares {}, are under "
        "way: one would wait for the other behind it; give each rank a stream of its own",
        rank, static_cast<const void*>(stream), ranks_[member], device_->name());
  }
  return {};
}

Status SharedLaunch::launchMessages(int rank,
                                    const device::MessageArgs& args,
                                    int lanes,
                                    Stream stream) {
  const CurrentDevice current(*device_);
  const Driver& driver = device_->driver();
  MemberMessages& own = messages_[memberOf(rank)];
  Event done = nullptr;
  {
    const std::scoped_lock lock(messagesMutex_);
    if (own.done == nullptr)
      RONDO_RETURN_IF_ERROR(check(driver.eventCreate(&own.done, kEventDisableTiming)));
    done = own.done;
  }
  // A shared launch cannot begin meanwhile: this rank would take part.
  RONDO_RETURN_IF_ERROR(check(driver.streamWaitEvent(stream, done_, 0)));
  RONDO_RETURN_IF_ERROR(check(driver.streamWaitEvent(stream, done, 0)));
  {
    const std::scoped_lock lock(messagesMutex_);
    own.stream = stream;
    own.launched = true;
    own.recorded = false;
  }
  device::MessageArgs copied = args;
  void* parameters[] = {&copied};
  RONDO_RETURN_IF_ERROR(
      check(driver.launchKernel(device_->messageKernel(), static_cast<unsigned>(lanes), 1, 1,
                                device::kBlockThreads, 1, 1, 0, stream, parameters, nullptr)));
  const int recorded = driver.eventRecord(done, stream);
  const std::scoped_lock lock(messagesMutex_);
  own.recorded = true;
  return check(recorded);
}

/// What the members have launched for themselves comes before.
Status SharedLaunch::awaitMessages(Stream stream) {
  const std::scoped_lock lock(messagesMutex_);
  for (const MemberMessages& messages : messages_) {
    if (messages.done == nullptr) continue;
    RONDO_RETURN_IF_ERROR(check(device_->driver().streamWaitEvent(stream, messages.done, 0)));
  }
  return {};
}

Status SharedLaunch::launchAlone(const LaunchPart& part) {
  const Driver& driver = device_->driver();
  if (part.captured) return start(part.args, part);
  RONDO_RETURN_IF_ERROR(check(driver.streamWaitEvent(part.stream, done_, 0)));
  RONDO_RETURN_IF_ERROR(awaitMessages(part.stream));
  RONDO_RETURN_IF_ERROR(start(part.args, part));
  return check(driver.eventRecord(done_, part.stream));
}

/// On the stream of the member that came last. What the kernel does to all is taken from that
/// member's part, so all must have made the same call.
Status SharedLaunch::launchAll(std::size_t member, const std::function<Status()>& check) {
  const Driver& driver = device_->driver();
  const LaunchPart& own = parts_[member];
  for (std::size_t other = 0; other < parts_.size(); ++other) {
    if (parts_[other].args.ranks[0].call == own.args.ranks[0].call) continue;
    RONDO_RETURN_IF_ERROR(check());
    return Status::mismatch("ranks {} and {} made different calls", ranks_[other], ranks_[member]);
  }
  RONDO_RETURN_IF_ERROR(this->check(driver.streamWaitEvent(own.stream, done_, 0)));
  RONDO_RETURN_IF_ERROR(awaitMessages(own.stream));
  device::LaunchArgs args = own.args;
  for (std::size_t other = 0; other < parts_.size(); ++other) {
    args.ranks[other] = parts_[other].args.ranks[0];
    RONDO_RETURN_IF_ERROR(this->check(driver.streamWaitEvent(own.stream, ready_[other], 0)));
  }
  RONDO_RETURN_IF_ERROR(start(args, own));
  return this->check(driver.eventRecord(done_, own.stream));
}

Status SharedLaunch::start(const device::LaunchArgs& args, const LaunchPart& part) const {
  device::LaunchArgs copied = args;
  void* parameters[] = {&copied};
  const auto blocks = static_cast<unsigned>(members() * args.channels);
  const Function kernel = part.coded ? device_->codedKernel() : device_->kernel(part.type);
  const std::size_t sharedBytes =
      part.coded ? sizeof(device::CodedBlockState) : sizeof(device::BlockState);
  return check(device_->driver().launchKernel(kernel, blocks, 1, 1, device::kBlockThreads, 1, 1,
                                              static_cast<unsigned>(sharedBytes), part.stream,
                                              parameters, nullptr));
}

}  // namespace rondo::cuda
