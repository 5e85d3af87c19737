#include "src/communicator_handles.h"

#include <cstdint>
#include <utility>

#include "src/handle_table.h"

namespace rondo {

namespace {

using Table = HandleTable<Communicator, 12, 48>;

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

Status refuseInChild(rondoComm_t handle) {
  return Status::invalidUsage(
      "communicator {:#x} is used after fork: it belongs to the process that made it; a child "
      "makes "
      "its own",
      toNumber(handle));
}

}  // namespace

Status registerCommunicators(std::vector<std::unique_ptr<Communicator>> communicators,
                             rondoComm_t* handles) {
  std::vector<Table::Handle> given;
  given.reserve(communicators.size());
  for (std::unique_ptr<Communicator>& communicator : communicators) {
    const auto handle = table().insert(std::move(communicator));
    if (!handle) {
      for (const Table::Handle earlier : given)
        table().take(earlier);
      return Status::outOfMemory(
          "no room for {} communicators: a process may have {} at a time; destroy some first",
          communicators.size(), Table::kCapacity);
    }
    given.push_back(*handle);
  }
  for (std::size_t rank = 0; rank < given.size(); ++rank) {
    handles[rank] = toHandle(given[rank]);
  }
  return {};
}

Result<Communicator*> findCommunicator(rondoComm_t handle) {
  const Table::Found found = table().find(toNumber(handle));
  if (found.object == nullptr) return refuse(handle, found.state);
  if (!found.object->inOwnProcess()) return refuseInChild(handle);
  return found.object;
}

Result<std::unique_ptr<Communicator>> takeCommunicator(rondoComm_t handle) {
  const Table::Found found = table().find(toNumber(handle));
  // Before the table's lock, which another thread may have held when this process was forked off.
  if (found.object != nullptr && !found.object->inOwnProcess()) {
    return std::unique_ptr<Communicator>();
  }
  std::unique_ptr<Communicator> communicator = table().take(toNumber(handle));
  if (communicator == nullptr) return refuse(handle, found.state);
  return communicator;
}

}  // namespace rondo
