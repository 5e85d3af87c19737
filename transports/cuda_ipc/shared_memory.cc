#include "transports/cuda_ipc/shared_memory.h"

#include <functional>
#include <random>
#include <utility>

#include <unistd.h>

#include "src/log.h"

namespace rondo::cuda {

namespace {

/// Differs between processes, even those of containers that take themselves for one host and have
/// the same number; a child that was forked off has another one, too.
std::uint64_t processToken() {
  static const std::uint64_t drawn = [] {
    std::random_device device;
    return std::uint64_t{device()} << 32 | device();
  }();
  return drawn + static_cast<std::uint64_t>(::getpid());
}

}  // namespace

std::uint64_t hashOfHost(const std::string& identity) {
  return std::hash<std::string>()(identity);
}

MemoryName nameMemory(const SharedMemory& memory, const Device& device, std::uint64_t host) {
  MemoryName name;
  name.host = host;
  name.process = processToken();
  name.bytes = memory->bytes();
  name.name = NamedMemory::ofProcess().add(memory);
  name.device = device.ordinal();
  name.uuid = device.uuid();
  if (memory->onHost<std::byte>() != nullptr) return name;
  const Result<IpcHandle> handle = device.exportMemory(*memory);
  name.exported = handle.ok() ? 1 : 0;
  if (handle.ok()) {
    name.handle = *handle;
  } else {
    RONDO_LOG(kDebug, kTransport, "{}", handle.status().message());
  }
  return name;
}

bool inOwnProcess(const MemoryName& name, std::uint64_t host) {
  return name.host == host && name.process == processToken();
}

Result<SharedMemory> openMemory(const MemoryName& name, const Device& device, std::uint64_t host) {
  if (inOwnProcess(name, host)) {
    SharedMemory memory = NamedMemory::ofProcess().find(name.name);
    if (memory == nullptr) return Status::aborted("its owner has given it up");
    return memory;
  }
  if (name.exported == 0)
    return Status::systemError("its owner could not export it to other processes");
  Result<Memory> imported = device.importMemory(name.handle, name.bytes);
  RONDO_RETURN_IF_ERROR(imported.status());
  return std::make_shared<const Memory>(*std::move(imported));
}

void leaveBehind(const SharedMemory& memory) {
  // Kept alive by what is never freed.
  (void)new SharedMemory(memory);
}

}  // namespace rondo::cuda
