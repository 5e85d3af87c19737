#include "tests/cuda/driver_double/fake_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "tests/cuda/driver_double/driver_results.h"
#include "transports/pages.h"

namespace rondo::testing {

namespace {

using namespace rondo::cuda;  // NOLINT(google-build-using-namespace): all of it is spoken here

constexpr std::uint64_t kMagic = 0x656c626e6f646e72;

/// Memory of a GPU need not be zero at first.
void spoil(std::byte* memory, std::size_t bytes) {
  std::memset(memory, 0xa5, wholePages(bytes));
}

/// More than this no machine has; it would be given all the same, and end the process when used.
bool tooMuch(std::size_t bytes) {
  const auto pages = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES));
  return bytes / static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) >= pages;
}

std::uintptr_t addressOf(const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory);
}

std::uintptr_t pageOf(std::uintptr_t address) {
  return address / kPageBytes * kPageBytes;
}

/// Whether there is memory at all addresses.
bool isMapped(std::uintptr_t address, std::size_t bytes) {
  const std::uintptr_t begin = pageOf(address);
  const std::size_t length = wholePages(address + bytes - begin);
  std::vector<unsigned char> resident(length / kPageBytes);
  return ::mincore(reinterpret_cast<void*>(begin), length, resident.data()) == 0;
}

}  // namespace

std::optional<HandleContents> HandleContents::of(const IpcHandle& handle) {
  const auto contents = std::bit_cast<HandleContents>(handle);
  if (contents.magic != kMagic) return std::nullopt;
  return contents;
}

IpcHandle HandleContents::handle() const {
  return std::bit_cast<IpcHandle>(*this);
}

int FakeMemory::allocate(void** memory, std::size_t bytes, int device) {
  if (bytes == 0) return kInvalidValue;
  if (tooMuch(bytes)) return kOutOfMemory;
  std::optional<SharedMemory> made = arena_.allocate(bytes);
  if (!made.has_value()) return kOutOfMemory;
  spoil(made->data(), bytes);
  *memory = made->data();
  Block block{.kind = Kind::kAllocated, .bytes = bytes, .device = device};
  block.shared = *std::move(made);
  const std::scoped_lock lock(mutex_);
  blocks_.emplace(addressOf(*memory), std::move(block));
  return kSuccess;
}

int FakeMemory::free(void* memory) {
  const std::scoped_lock lock(mutex_);
  const auto found = block(memory, Kind::kAllocated);
  if (found == blocks_.end()) return kInvalidValue;
  SharedArena::release(std::move(found->second.shared));
  blocks_.erase(found);
  return kSuccess;
}

int FakeMemory::allocateOnHost(void** memory, std::size_t bytes, int device) {
  if (bytes == 0) return kInvalidValue;
  if (tooMuch(bytes)) return kOutOfMemory;
  Mapping made(-1, 0, wholePages(bytes));
  if (made.data() == nullptr) return kOutOfMemory;
  spoil(made.data(), bytes);
  *memory = made.data();
  Block block{.kind = Kind::kPinned, .bytes = bytes, .device = device};
  block.pinned = std::move(made);
  const std::scoped_lock lock(mutex_);
  blocks_.emplace(addressOf(*memory), std::move(block));
  return kSuccess;
}

int FakeMemory::freeOnHost(void* memory) {
  const std::scoped_lock lock(mutex_);
  const auto found = block(memory, Kind::kPinned);
  if (found == blocks_.end()) return kInvalidValue;
  blocks_.erase(found);
  return kSuccess;
}

int FakeMemory::registerHost(void* memory, std::size_t bytes, unsigned flags, int device) {
  constexpr unsigned kAllFlags = 15;
  const std::uintptr_t begin = addressOf(memory);
  if (memory == nullptr || bytes == 0 || flags > kAllFlags) return kInvalidValue;
  if (!isMapped(begin, bytes)) return kInvalidValue;
  const std::scoped_lock lock(mutex_);
  if (const auto other = onPagesOf(begin, bytes); other != blocks_.end())
    return other->second.onHost() ? kHostMemoryAlreadyRegistered : kInvalidValue;
  Block block{.kind = Kind::kRegistered, .bytes = bytes, .device = device};
  block.flags = flags;
  blocks_.emplace(begin, std::move(block));
  return kSuccess;
}

int FakeMemory::unregisterHost(void* memory) {
  const std::scoped_lock lock(mutex_);
  const auto found = block(memory, Kind::kRegistered);
  if (found == blocks_.end()) return kHostMemoryNotRegistered;
  blocks_.erase(found);
  return kSuccess;
}

bool FakeMemory::mappedFor(std::uintptr_t address, int device) {
  const std::scoped_lock lock(mutex_);
  const auto found = around(address);
  if (found == blocks_.end()) return false;
  const Block& block = found->second;
  if (block.kind != Kind::kRegistered) return block.kind == Kind::kPinned;
  const bool seen = block.device == device || (block.flags & kHostPortable) != 0;
  return seen && (block.flags & kHostMapped) != 0;
}

int FakeMemory::share(IpcHandle* handle, void* memory, const DeviceUuid& device) {
  const std::scoped_lock lock(mutex_);
  const auto found = block(memory, Kind::kAllocated);
  if (found == blocks_.end()) return kInvalidValue;
  *handle = HandleContents{kMagic, found->second.shared.range, device, 0}.handle();
  return kSuccess;
}

int FakeMemory::open(void** memory, const SharedRange& range, int home, int context) {
  if (range.process == ::getpid()) return kInvalidContext;
  const std::scoped_lock lock(mutex_);
  const auto same = std::ranges::find_if(blocks_, [&](const auto& entry) {
    return entry.second.holds(range) && entry.second.context == context;
  });
  if (same != blocks_.end()) {
    ++same->second.openings;
    *memory = reinterpret_cast<void*>(same->first);
    return kSuccess;
  }
  std::optional<SharedMemory> opened = openShared(range, openedFiles());
  if (!opened.has_value()) return kInvalidHandle;
  *memory = opened->data();
  Block block{.kind = Kind::kOpened, .bytes = range.bytes, .device = home, .context = context};
  block.shared = *std::move(opened);
  blocks_.emplace(addressOf(*memory), std::move(block));
  return kSuccess;
}

int FakeMemory::close(void* memory, int context) {
  const std::scoped_lock lock(mutex_);
  const auto found = block(memory, Kind::kOpened);
  if (found == blocks_.end()) return kInvalidValue;
  if (found->second.context != context) return kInvalidContext;
  if (--found->second.openings > 0) return kSuccess;
  const SharedMemory closed = std::move(found->second.shared);
  blocks_.erase(found);
  // All contexts of a process have one lock.
  const bool stillOpen = std::ranges::any_of(
      blocks_, [&](const auto& entry) { return entry.second.holds(closed.range); });
  if (!stillOpen) unlockShared(closed);
  return kSuccess;
}

std::optional<FakeMemory::Place> FakeMemory::find(std::uintptr_t address) {
  const std::scoped_lock lock(mutex_);
  const auto found = around(address);
  if (found == blocks_.end()) return std::nullopt;
  return Place{found->second.device, found->second.onHost()};
}

int FakeMemory::objects() {
  const std::scoped_lock lock(mutex_);
  return static_cast<int>(blocks_.size());
}

FakeMemory::Blocks::iterator FakeMemory::block(void* memory, Kind kind) {
  const auto found = blocks_.find(addressOf(memory));
  return found != blocks_.end() && found->second.kind == kind ? found : blocks_.end();
}

FakeMemory::Blocks::iterator FakeMemory::around(std::uintptr_t address) {
  auto next = blocks_.upper_bound(address);
  if (next == blocks_.begin()) return blocks_.end();
  --next;
  return address - next->first < next->second.bytes ? next : blocks_.end();
}

FakeMemory::Blocks::iterator FakeMemory::onPagesOf(std::uintptr_t address, std::size_t bytes) {
  const std::uintptr_t end = pageOf(address + bytes - 1) + kPageBytes;
  const auto after = blocks_.lower_bound(end);
  if (after == blocks_.begin()) return blocks_.end();
  // Blocks are on pages of their own, so only the last one can reach so far.
  const auto last = std::prev(after);
  return last->first + last->second.bytes > pageOf(address) ? last : blocks_.end();
}

std::vector<std::shared_ptr<const ArenaFile>> FakeMemory::openedFiles() const {
  std::vector<std::shared_ptr<const ArenaFile>> files;
  for (const auto& [address, block] : blocks_) {
    if (block.kind == Kind::kOpened) files.push_back(block.shared.file);
  }
  return files;
}

bool FakeMemory::Block::onHost() const {
  return kind == Kind::kPinned || kind == Kind::kRegistered;
}

bool FakeMemory::Block::holds(const SharedRange& range) const {
  return kind == Kind::kOpened && shared.range.id == range.id;
}

}  // namespace rondo::testing
