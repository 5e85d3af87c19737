#include "src/cli/perf/guarded_buffer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace rondo::perf {

namespace {

constexpr std::size_t kAlignment = 64;  // bytes
constexpr std::size_t kGuardBytes = 64;
constexpr std::byte kGuard{0xa5};
constexpr std::byte kPoison{0x5b};

}  // namespace

void GuardedBuffer::Free::operator()(std::byte* memory) const {
  std::free(memory);  // NOLINT: the deleter of memory_
}

Result<GuardedBuffer> GuardedBuffer::create(std::size_t bytes, std::size_t offsetBytes) {
  const std::size_t wanted = kGuardBytes + offsetBytes + bytes + kGuardBytes;
  const std::size_t total = (wanted + kAlignment - 1) / kAlignment * kAlignment;
  GuardedBuffer buffer;
  buffer.memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, total)));
  if (buffer.memory_ == nullptr) {
    return Status::outOfMemory("no {} bytes for a test buffer; ask for a smaller size", bytes);
  }
  buffer.start_ = buffer.memory_.get() + kGuardBytes + offsetBytes;
  buffer.bytes_ = bytes;
  std::ranges::fill(buffer.before(), kGuard);
  std::ranges::fill(buffer.after(), kGuard);
  buffer.poison();
  return buffer;
}

void GuardedBuffer::poison() {
  if (bytes_ > 0) std::memset(start_, static_cast<int>(kPoison), bytes_);
}

bool GuardedBuffer::guardsIntact() const {
  const auto isGuard = [](std::byte byte) { return byte == kGuard; };
  return std::ranges::all_of(before(), isGuard) && std::ranges::all_of(after(), isGuard);
}

std::span<std::byte> GuardedBuffer::before() const {
  return {start_ - kGuardBytes, kGuardBytes};
}

std::span<std::byte> GuardedBuffer::after() const {
  return {start_ + bytes_, kGuardBytes};
}

}  // namespace rondo::perf
