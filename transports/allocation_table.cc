#include "transports/allocation_table.h"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <pthread.h>

#include "kernels/memory_order.h"

namespace rondo {

namespace {

/// What a pointer of a C function is looked up in. Never destroyed: a program may end while its
/// threads still use memory.
struct OfProcess {
  AllocationTable* table = new AllocationTable;
  bool forked = false;
};

OfProcess& ofThisProcess() {
  static OfProcess instance;
  return instance;
}

/// All blocks are the parent's, whose threads may have held the lock.
void beginAnew() {
  ofThisProcess() = {new AllocationTable, true};
}

}  // namespace

AllocationTable& AllocationTable::ofProcess() {
  static const int watching = ::pthread_atfork(nullptr, nullptr, &beginAnew);
  static_cast<void>(watching);
  return *ofThisProcess().table;
}

void AllocationTable::add(void* begin, std::size_t bytes, std::unique_ptr<MemoryBlock> block) {
  const std::scoped_lock lock(mutex_);
  Entry& entry = entries_[reinterpret_cast<std::uintptr_t>(begin)];
  entry.number = ++lastNumber_;
  entry.bytes = bytes;
  entry.block = std::move(block);
  host::postCounter(blocks_, entries_.size());
}

Status AllocationTable::free(void* begin) {
  std::unique_ptr<MemoryBlock> freed;  // without the lock: it may take its time
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(reinterpret_cast<std::uintptr_t>(begin));
  if (found == entries_.end()) {
    if (ofThisProcess().forked) return {};  // it may be the parent's, for whom it stays
    return Status::invalidArgument(
        "{} is not memory of rondoMemAlloc, or was freed; pass what rondoMemAlloc gave", begin);
  }
  Entry& entry = found->second;
  if (entry.holds > 0) {
    return Status::invalidUsage(
        "{} is registered with {}; call rondoCommDeregister, or destroy the communicator, first",
        begin, entry.holder);
  }
  host::postCounter(changes_, changes_ + 1);
  freed = std::move(entry.block);
  entries_.erase(found);
  host::postCounter(blocks_, entries_.size());
  return {};
}

std::optional<PlaceInBlock> AllocationTable::find(const void* data, std::size_t bytes) const {
  if (host::observeCounter(blocks_) == 0) return std::nullopt;  // most programs have none
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const std::scoped_lock lock(mutex_);
  auto next = entries_.upper_bound(address);
  if (next == entries_.begin()) return std::nullopt;
  const auto& [begin, entry] = *--next;
  const std::size_t offset = address - begin;
  if (offset > entry.bytes || bytes > entry.bytes - offset) return std::nullopt;
  return PlaceInBlock{entry.number, offset, entry.bytes};
}

AllocationTable::Entry* AllocationTable::entryOf(std::uint64_t number) {
  const auto found = std::ranges::find_if(
      entries_, [number](const auto& pair) { return pair.second.number == number; });
  return found != entries_.end() ? &found->second : nullptr;
}

bool AllocationTable::holds(std::uint64_t number) const {
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(entries_,
                             [number](const auto& pair) { return pair.second.number == number; });
}

bool AllocationTable::hold(std::uint64_t number, const std::string& holder) {
  const std::scoped_lock lock(mutex_);
  Entry* const entry = entryOf(number);
  if (entry == nullptr) return false;
  ++entry->holds;
  entry->holder = holder;
  return true;
}

void AllocationTable::release(std::uint64_t number) {
  const std::scoped_lock lock(mutex_);
  if (Entry* const entry = entryOf(number)) --entry->holds;
}

int AllocationTable::duplicateFile(std::uint64_t number) const {
  const std::scoped_lock lock(mutex_);
  for (const auto& [begin, entry] : entries_)
    if (entry.number == number && entry.block->file() >= 0)
      return ::fcntl(entry.block->file(), F_DUPFD_CLOEXEC, 0);
  return -1;
}

std::uint64_t AllocationTable::newNumber() {
  const std::scoped_lock lock(mutex_);
  return ++lastNumber_;
}

std::uint64_t AllocationTable::changes() const {
  return host::observeCounter(changes_);
}

}  // namespace rondo
