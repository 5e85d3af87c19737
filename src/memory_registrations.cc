#include "src/memory_registrations.h"

#include <algorithm>

#include "transports/allocation_table.h"

namespace rondo {

namespace {

/// Begins with the letters "rondo", which no pointer and few other numbers do.
constexpr std::uint64_t kFirstHandle = 0x726f6e646f000000;

}  // namespace

MemoryRegistrations::~MemoryRegistrations() {
  for (const auto& [handle, registration] : registrations_)
    release(registration);
}

void MemoryRegistrations::release(const Registration& registration) {
  if (registration.block != 0) AllocationTable::ofProcess().release(registration.block);
}

Result<MemoryRegistrations::Change> MemoryRegistrations::add(const void* buffer,
                                                             std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(buffer);
  if (buffer == nullptr) return Status::invalidArgument("buffer is NULL; pass memory to register");
  if (bytes == 0 || bytes > UINTPTR_MAX - begin) {
    return Status::invalidArgument("bytes is {}; pass the length of the buffer at {}", bytes,
                                   buffer);
  }
  const std::scoped_lock lock(mutex_);
  const auto same = std::ranges::find_if(registrations_, [&](const auto& entry) {
    return entry.second.begin == begin && entry.second.bytes == bytes;
  });
  if (same != registrations_.end()) {
    ++same->second.times;
    return Change{same->first, false};
  }
  AllocationTable& allocations = AllocationTable::ofProcess();
  Registration registration{.begin = begin, .bytes = bytes, .times = 1};
  if (const auto block = allocations.find(buffer, 1)) {
    if (bytes > block->blockBytes - block->offset) {
      return Status::invalidArgument(
          "{} bytes from {} on reach {} bytes beyond the memory that rondoMemAlloc gave", bytes,
          buffer, bytes - (block->blockBytes - block->offset));
    }
    if (allocations.hold(block->block, holder_)) registration.block = block->block;
  }
  const std::uint64_t handle = kFirstHandle + allocations.newNumber();
  registrations_.emplace(handle, registration);
  return Change{handle, true};
}

Result<MemoryRegistrations::Change> MemoryRegistrations::remove(std::uint64_t handle) {
  const std::scoped_lock lock(mutex_);
  const auto found = registrations_.find(handle);
  if (found == registrations_.end()) {
    const std::uint64_t last = kFirstHandle + AllocationTable::ofProcess().newNumber();
    if (handle <= kFirstHandle || handle >= last) {
      return Status::invalidArgument(
          "{:#x} is no registration; pass a handle from rondoCommRegister", handle);
    }
    return Status::invalidUsage(
        "registration {:#x} was deregistered, or is of another communicator", handle);
  }
  if (--found->second.times > 0) return Change{handle, false};
  release(found->second);
  registrations_.erase(found);
  return Change{handle, true};
}

}  // namespace rondo
