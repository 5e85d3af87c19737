#include "src/stream_handles.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "src/handle_table.h"

namespace rondo {

namespace {

using StreamTable = HandleTable<HostStream, 12, 48>;
// What is issued on streams shares the event, so that its handle may go at any time.
using EventTable = HandleTable<std::shared_ptr<HostEvent>, 12, 48>;

/// The letters "stream" and "event": far from each other, from communicators, and from pointers.
constexpr std::uint64_t kFirstStream = 0x73747265616d;
constexpr std::uint64_t kFirstEvent = 0x6576656e7400;

// Never destroyed: a program may end while its threads still use them.
StreamTable& streams() {
  static StreamTable* const instance = new StreamTable(kFirstStream);
  return *instance;
}

EventTable& events() {
  static EventTable* const instance = new EventTable(kFirstEvent);
  return *instance;
}

std::uint64_t toNumber(const void* handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}

Status refuseInChild(std::string_view what, std::uint64_t number) {
  return Status::invalidUsage(
      "{} {:#x} is used after fork: it belongs to the process that made it; a child makes its own",
      what, number);
}

Status noRoom(std::string_view what) {
  return Status::outOfMemory(
      "no room for another {}: a process may have {} at a time; destroy some first", what,
      StreamTable::kCapacity);
}

Status refuseStream(std::uint64_t number, HandleState state) {
  if (state == HandleState::kDestroyed)
    return Status::invalidUsage("stream {:#x} was destroyed", number);
  return Status::invalidArgument(
      "{:#x} is no stream on host memory; pass a handle from rondoStreamCreate, or NULL (streams "
      "of CUDA are for communicators on devices)",
      number);
}

Status refuseEvent(std::uint64_t number, HandleState state) {
  if (number == 0)
    return Status::invalidArgument("event is NULL; pass a handle from rondoEventCreate");
  if (state == HandleState::kDestroyed)
    return Status::invalidUsage("event {:#x} was destroyed", number);
  return Status::invalidArgument("{:#x} is no event; pass a handle from rondoEventCreate", number);
}

}  // namespace

Result<rondoStream_t> registerStream(std::unique_ptr<HostStream> stream) {
  const auto handle = streams().insert(std::move(stream));
  if (!handle.has_value()) return noRoom("stream");
  return reinterpret_cast<rondoStream_t>(*handle);
}

Result<HostStream*> findStream(rondoStream_t handle) {
  if (handle == nullptr) return static_cast<HostStream*>(nullptr);
  const StreamTable::Found found = streams().find(toNumber(handle));
  if (found.object == nullptr) return refuseStream(toNumber(handle), found.state);
  if (!found.object->inOwnProcess()) return refuseInChild("stream", toNumber(handle));
  return found.object;
}

bool isHostStream(rondoStream_t handle) {
  return handle != nullptr && streams().find(toNumber(handle)).state != HandleState::kUnknown;
}

Result<std::unique_ptr<HostStream>> takeStream(rondoStream_t handle) {
  const StreamTable::Found found = streams().find(toNumber(handle));
  // Before the table's lock, which another thread may have held when this process was forked off.
  if (found.object != nullptr && !found.object->inOwnProcess())
    return std::unique_ptr<HostStream>();
  std::unique_ptr<HostStream> stream = streams().take(toNumber(handle));
  if (stream == nullptr) return refuseStream(toNumber(handle), found.state);
  return stream;
}

Result<rondoEvent_t> registerEvent(std::shared_ptr<HostEvent> event) {
  const auto handle =
      events().insert(std::make_unique<std::shared_ptr<HostEvent>>(std::move(event)));
  if (!handle.has_value()) return noRoom("event");
  return reinterpret_cast<rondoEvent_t>(*handle);
}

Result<std::shared_ptr<HostEvent>> findEvent(rondoEvent_t handle) {
  const EventTable::Found found = events().find(toNumber(handle));
  if (found.object == nullptr) return refuseEvent(toNumber(handle), found.state);
  if (!(*found.object)->inOwnProcess()) return refuseInChild("event", toNumber(handle));
  return *found.object;
}

Status dropEvent(rondoEvent_t handle) {
  const EventTable::Found found = events().find(toNumber(handle));
  if (found.object != nullptr && !(*found.object)->inOwnProcess()) return {};
  if (events().take(toNumber(handle)) == nullptr) return refuseEvent(toNumber(handle), found.state);
  return {};
}

}  // namespace rondo
