#include "transports/cuda_ipc/named_memory.h"

namespace rondo::cuda {

NamedMemory& NamedMemory::ofProcess() {
  static auto* const the = new NamedMemory;  // never destroyed: threads may outlive main()
  return *the;
}

std::uint64_t NamedMemory::add(const SharedMemory& memory) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(memory_, [](const auto& entry) { return entry.second.expired(); });
  memory_.emplace(++last_, memory);
  return last_;
}

SharedMemory NamedMemory::find(std::uint64_t name) {
  const std::scoped_lock lock(mutex_);
  const auto found = memory_.find(name);
  return found == memory_.end() ? nullptr : found->second.lock();
}

}  // namespace rondo::cuda
