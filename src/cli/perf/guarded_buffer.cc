#include "src/cli/perf/guarded_buffer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "rondo/rondo.h"
#include "src/cli/perf/collective_caller.h"

namespace rondo::perf {

namespace {

constexpr std::size_t kAlignment = 64;  // bytes
constexpr std::size_t kGuardBytes = 64;
constexpr std::byte kGuard{0xa5};
constexpr std::byte kPoison{0x5b};

void freePlain(std::byte* memory) {
  std::free(memory);  // NOLINT: a deleter
}

void freeRondo(std::byte* memory) {
  (void)rondoMemFree(memory);  // which refuses only what is registered or not its own
}

}  // namespace

Result<GuardedBuffer> GuardedBuffer::create(std::size_t bytes,
                                            std::size_t offsetBytes,
                                            bool fromRondo) {
  const std::size_t wanted = kGuardBytes + offsetBytes + bytes + kGuardBytes;
  const std::size_t total = (wanted + kAlignment - 1) / kAlignment * kAlignment;
  GuardedBuffer buffer;
  void* memory = nullptr;  // of rondoMemAlloc it begins on a page
  if (!fromRondo) {
    memory = std::aligned_alloc(kAlignment, total);
  } else if (const rondoResult_t got = rondoMemAlloc(&memory, total, -1); got != rondoSuccess) {
    return statusOf(got, nullptr);
  }
  buffer.memory_ = {static_cast<std::byte*>(memory), fromRondo ? freeRondo : freePlain};
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
