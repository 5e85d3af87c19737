// The memory that slots take, over all communicators of a process: a ledger with one number, and an
// account for each transport of each communicator, which gives back what it holds at its end. Slots
// belong to a connection for its life, so an account only grows until then.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/status.h"
#include "transports/fork_wiped_page.h"
#include "transports/slot_shape.h"

namespace rondo {

/// How much all accounts hold. A process that was forked off begins with an empty one: what its
/// parent's communicators hold is the parent's.
/// @threads any; holds no lock, so that a fork at any moment leaves none behind.
class SlotLedger {
 public:
  /// The one that communicators use. Never destroyed: they may outlive all else.
  static SlotLedger& ofThisProcess();

  /// Adds `bytes`, unless more than `limit` would then be held. @return whether it did.
  bool take(std::size_t bytes, std::size_t limit);

  void giveBack(std::size_t bytes);

  std::size_t held() const;

 private:
  std::uint64_t& word() const { return page_.word() != nullptr ? *page_.word() : withoutPage_; }

  ForkWipedPage page_;
  mutable std::uint64_t withoutPage_ = 0;  // used where there is no page: children then count on
};

/// What one transport holds.
/// @threads one at a time.
class SlotAccount {
 public:
  /// @param limit  bytes that all accounts of `ledger` may hold when this one takes more; 0: any
  /// @param ledger must outlive the account
  explicit SlotAccount(std::size_t limit = 0, SlotLedger& ledger = SlotLedger::ofThisProcess())
      : ledger_(&ledger), limit_(limit) {}

  SlotAccount(SlotAccount&& other) noexcept;
  SlotAccount& operator=(SlotAccount&& other) noexcept;
  SlotAccount(const SlotAccount&) = delete;
  SlotAccount& operator=(const SlotAccount&) = delete;

  ~SlotAccount() { ledger_->giveBack(held_); }

  /// Takes memory for a connection: with all slots that are wanted as long as that leaves half of
  /// the limit, then with the fewest, so that late connections come to be, too.
  /// @return the shape that it took memory for.
  /// @errors OutOfMemory, naming the bytes wanted and held, and the setting.
  Result<SlotShape> take(SlotShape wanted);

  /// Returns the memory of a connection that take() gave, and that did not come to be.
  void giveBack(SlotShape taken);

  /// Bytes that this account holds.
  std::size_t held() const { return held_; }

  /// 0: none.
  std::size_t limit() const { return limit_; }

 private:
  bool tryTake(SlotShape slots, std::size_t limit);

  SlotLedger* ledger_;
  std::size_t limit_;
  std::size_t held_ = 0;
};

}  // namespace rondo
