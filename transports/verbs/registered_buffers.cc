#include "transports/verbs/registered_buffers.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace rondo::verbs {

Status RegisteredBuffers::add(std::uint64_t number,
                              std::span<const std::byte> memory,
                              const std::vector<std::shared_ptr<Device>>& devices) {
  Buffer buffer{number, memory, {}};
  Status first;
  for (const auto& device : devices) {
    const Library& library = device->library();
    // libibverbs has one type for what is read and what is written. Without rights it is read only.
    auto* const begin = const_cast<std::byte*>(memory.data());
    errno = 0;
    Owned<ibv_mr> region(library.registerMemory(device->domain(), begin, memory.size(), 0),
                         library.deregisterMemory);
    if (region != nullptr) {
      buffer.regions.emplace(device.get(), std::move(region));
    } else if (first.ok()) {
      first = Status::systemError(
          "{} does not register {} bytes of memory (its adapter has {} regions for all processes): "
          "{}",
          device->name(), memory.size(), device->mostRegions(), verbsErrorText(errno));
    }
  }
  buffers_.push_back(std::move(buffer));
  return first;
}

bool RegisteredBuffers::has(std::uint64_t number) const {
  return std::ranges::find(buffers_, number, &Buffer::number) != buffers_.end();
}

void RegisteredBuffers::remove(std::uint64_t number) {
  std::erase_if(buffers_, [number](const Buffer& buffer) { return buffer.number == number; });
}

std::optional<std::uint32_t> RegisteredBuffers::keyOf(const Device& device,
                                                      const std::byte* data,
                                                      std::size_t bytes) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  for (const Buffer& buffer : buffers_) {
    const auto offset = begin - reinterpret_cast<std::uintptr_t>(buffer.memory.data());
    if (offset > buffer.memory.size() || bytes > buffer.memory.size() - offset) continue;
    const auto region = buffer.regions.find(&device);
    if (region != buffer.regions.end()) return region->second->lkey;
  }
  return std::nullopt;
}

}  // namespace rondo::verbs
