#include "src/communicator_handles.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "src/handle_table.h"

namespace rondo {

namespace {

using Table = HandleTable<CommunicatorEntry, 12, 48>;

static_assert(sizeof(rondoComm_t) == sizeof(Table::Handle));

/// Begins with the letters "rondo", which no pointer and few other numbers do.
constexpr std::uint64_t kFirstGeneration = 0x726f6e646f00;

Table& table() {
  // Never destroyed: a program may end while its threads still use communicators.
  static Table* const instance = new Table(kFirstGeneration);
  return *instance;
}

Table::Handle toNumber(rondoComm_t handle) {
  return reinterpret_cast<Table::Handle>(handle);
}

rondoComm_t toHandle(Table::Handle number) {
  return reinterpret_cast<rondoComm_t>(number);
}

Status refuse(rondoComm_t handle, HandleState state) {
  if (handle == nullptr) {
    return Status::invalidArgument("comm is NULL; pass a handle from rondoCommInitAll");
  }
  if (state == HandleState::kDestroyed) {
    return Status::invalidUsage("communicator {:#x} was destroyed", toNumber(handle));
  }
  return Status::invalidUsage("{:#x} is no communicator; pass a handle from rondoCommInitAll",
                              toNumber(handle));
}

/// Kept out of line: what is found is nearly always made.
[[gnu::cold]] [[gnu::noinline]] Status refuseUnmade(rondoComm_t handle, CommunicatorEntry& entry) {
  const Status why = entry.whyNone();
  if (why.code() == StatusCode::kInProgress) {
    return Status::invalidUsage(
        "communicator {:#x} is still being made; wait until rondoCommGetAsyncError says "
        "rondoSuccess, or call rondoCommSynchronize",
        toNumber(handle));
  }
  return Status::invalidUsage("communicator {:#x} was not made: {}", toNumber(handle),
                              why.message());
}

Status refuseInChild(rondoComm_t handle) {
  return Status::invalidUsage(
      "communicator {:#x} is used after fork: it belongs to the process that made it; a child "
      "makes "
      "its own",
      toNumber(handle));
}

Result<std::vector<std::unique_ptr<CommunicatorEntry>>> makeEntries(
    std::vector<std::unique_ptr<Communicator>> communicators) {
  std::vector<std::unique_ptr<CommunicatorEntry>> entries;
  for (std::unique_ptr<Communicator>& communicator : communicators) {
    if (communicator->config().blocking) {
      entries.push_back(std::make_unique<CommunicatorEntry>(std::move(communicator)));
      continue;
    }
    auto entry = CommunicatorEntry::withWorker(std::move(communicator));
    RONDO_RETURN_IF_ERROR(entry.status());
    entries.push_back(*std::move(entry));
  }
  return entries;
}

}  // namespace

Status registerCommunicators(std::vector<std::unique_ptr<Communicator>> communicators,
                             rondoComm_t* handles) {
  auto entries = makeEntries(std::move(communicators));
  RONDO_RETURN_IF_ERROR(entries.status());
  std::vector<rondoComm_t> given;
  given.reserve(entries->size());
  for (std::unique_ptr<CommunicatorEntry>& entry : *entries) {
    const Result<rondoComm_t> handle = registerEntry(std::move(entry));
    if (!handle.ok()) {
      for (const rondoComm_t earlier : given)
        table().take(toNumber(earlier));
      return handle.status();
    }
    given.push_back(*handle);
  }
  std::ranges::copy(given, handles);
  return {};
}

Result<rondoComm_t> registerEntry(std::unique_ptr<CommunicatorEntry> entry) {
  const auto handle = table().insert(std::move(entry));
  if (handle) return toHandle(*handle);
  return Status::outOfMemory(
      "no room for another communicator: a process may have {} at a time; destroy some first",
      Table::kCapacity);
}

Result<CommunicatorEntry*> findEntry(rondoComm_t handle) {
  const Table::Found found = table().find(toNumber(handle));
  if (found.object == nullptr) return refuse(handle, found.state);
  if (!found.object->inOwnProcess()) return refuseInChild(handle);
  return found.object;
}

Result<Communicator*> findCommunicator(rondoComm_t handle) {
  const Result<CommunicatorEntry*> entry = findEntry(handle);
  RONDO_RETURN_IF_ERROR(entry.status());
  if (Communicator* const communicator = (*entry)->communicator()) [[likely]]
    return communicator;
  return refuseUnmade(handle, **entry);
}

Result<std::unique_ptr<CommunicatorEntry>> takeEntry(rondoComm_t handle) {
  const Table::Found found = table().find(toNumber(handle));
  // Before the table's lock, which another thread may have held when this process was forked off.
  if (found.object != nullptr && !found.object->inOwnProcess()) {
    return std::unique_ptr<CommunicatorEntry>();
  }
  std::unique_ptr<CommunicatorEntry> entry = table().take(toNumber(handle));
  if (entry == nullptr) return refuse(handle, found.state);
  return entry;
}

}  // namespace rondo
