#include "tests/collective/guarded_buffer.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace rondo::testing {

namespace {

constexpr std::size_t kGuardBytes = 64;
constexpr std::align_val_t kAlignment{64};
constexpr std::byte kGuard{0xa5};
/// What a fresh buffer holds, so that a byte that was never written shows.
constexpr std::byte kFresh{0xee};

}  // namespace

void GuardedBuffer::Free::operator()(std::byte* memory) const {
  ::operator delete(memory, kAlignment);
}

GuardedBuffer::GuardedBuffer(std::size_t bytes, std::size_t shift)
    : total_(kGuardBytes + shift + bytes + kGuardBytes),
      begin_(kGuardBytes + shift),
      bytes_(bytes) {
  memory_.reset(static_cast<std::byte*>(::operator new(total_, kAlignment)));
  std::memset(memory_.get(), static_cast<int>(kGuard), total_);
  std::ranges::fill(this->bytes(), kFresh);
}

bool GuardedBuffer::guardsIntact() const {
  const std::span<const std::byte> all{memory_.get(), total_};
  const auto intact = [](std::byte byte) { return byte == kGuard; };
  return std::ranges::all_of(all.first(begin_), intact) &&
         std::ranges::all_of(all.subspan(begin_ + bytes_), intact);
}

}  // namespace rondo::testing
