#include "transports/slot_account.h"

#include <limits>
#include <utility>

#include "kernels/memory_order.h"

namespace rondo {

SlotLedger& SlotLedger::ofThisProcess() {
  static auto* const instance = new SlotLedger;
  return *instance;
}

bool SlotLedger::take(std::size_t bytes, std::size_t limit) {
  for (;;) {
    const std::uint64_t held = host::observeCounter(word());
    if (held > limit || bytes > limit - held) return false;
    if (host::claimWord(word(), held, held + bytes)) return true;
  }
}

void SlotLedger::giveBack(std::size_t bytes) {
  // Unsigned numbers wrap, so this adds what is missing to the next multiple of 2^64.
  host::takeFrom(word(), std::uint64_t{0} - bytes);
}

std::size_t SlotLedger::held() const {
  return host::observeCounter(word());
}

SlotAccount::SlotAccount(SlotAccount&& other) noexcept
    : ledger_(other.ledger_), limit_(other.limit_), held_(std::exchange(other.held_, 0)) {}

SlotAccount& SlotAccount::operator=(SlotAccount&& other) noexcept {
  std::swap(ledger_, other.ledger_);
  std::swap(limit_, other.limit_);
  std::swap(held_, other.held_);
  return *this;
}

Result<SlotShape> SlotAccount::take(SlotShape wanted) {
  const std::size_t limit = limit_ == 0 ? std::numeric_limits<std::size_t>::max() : limit_;
  if (tryTake(wanted, limit / 2)) return wanted;
  const SlotShape fewest = withFewestSlots(wanted);
  if (tryTake(fewest, limit)) return fewest;
  return Status::outOfMemory(
      "{} bytes wanted for a connection of {} slots, but this process holds {} of the {} bytes "
      "that its communicators may together have for slots; raise RONDO_SLOT_MEMORY_BYTES, make "
      "slots or channels fewer (RONDO_CHUNK_BYTES, RONDO_CHANNELS), or destroy communicators",
      connectionBytes(fewest), fewest.count, ledger_->held(), limit);
}

bool SlotAccount::tryTake(SlotShape slots, std::size_t limit) {
  const std::size_t bytes = connectionBytes(slots);
  if (!ledger_->take(bytes, limit)) return false;
  held_ += bytes;
  return true;
}

void SlotAccount::giveBack(SlotShape taken) {
  const std::size_t bytes = connectionBytes(taken);
  held_ -= bytes;
  ledger_->giveBack(bytes);
}

}  // namespace rondo
