// The one order of a communicator's operations on its rank: the order in which they were issued,
// whatever thread or stream that was in. An immediate call takes its turn when all that was issued
// before is complete; a call on a stream is given a place in the order at once and its turn later,
// in the stream's thread (src/host_stream.h).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "src/status.h"

namespace rondo {

/// Shared by a communicator and the calls on streams that may outlive it. Once the communicator has
/// failed nobody waits for a place any more: turns are then given in any order.
/// @threads any
class OperationOrder {
 public:
  /// A place in the order; smaller is earlier.
  using Ticket = std::uint64_t;

  /// The right to use the communicator, until the end of its life.
  /// @threads the one that was given it
  class [[nodiscard]] Turn {
   public:
    Turn(Turn&& other) noexcept
        : order_(std::exchange(other.order_, nullptr)),
          ticket_(other.ticket_),
          closed_(std::move(other.closed_)) {}

    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    Turn& operator=(Turn&&) = delete;

    ~Turn() {
      if (order_ != nullptr) order_->end(ticket_);
    }

    /// Whether there is a turn: not of a tryTurn() that came too early, nor after close().
    bool given() const { return order_ != nullptr; }

    /// Why the communicator is no more; ok while it lives.
    const Status& closed() const { return closed_; }

   private:
    friend class OperationOrder;
    Turn() = default;

    Turn(OperationOrder& order, Ticket ticket) : order_(&order), ticket_(ticket) {}

    explicit Turn(Status closed) : closed_(std::move(closed)) {}

    OperationOrder* order_ = nullptr;
    Ticket ticket_ = kNoTicket;
    Status closed_;
  };

  /// @param failed the communicator's flag; looked at until close()
  explicit OperationOrder(std::uint32_t& failed) : failed_(&failed) {}

  /// A place behind all that was issued so far; waitTurn() must follow. Waits for nobody.
  Ticket issue();

  /// Waits for the turn of an operation that was issued.
  Turn waitTurn(Ticket ticket);

  /// Waits for the turn of a call that is issued now. Costs one lock where nothing was issued
  /// ahead.
  Turn waitTurn();

  /// The turn of a call that is issued now, if that is at once.
  Turn tryTurn();

  /// Runs `note` in a turn of its own, behind all that was issued so far: now, if that is complete,
  /// else in the thread that completes the last of it. Not at all where another thread's immediate
  /// call is running, nor after a failure. Waits for nobody.
  /// @param note short; takes no turn
  void leaveNote(std::function<void()> note);

  /// Waits for all that was issued, or if the communicator has failed for what is running, then
  /// gives no turns any more.
  /// @param why told to what is issued and was not run
  void close(const Status& why);

 private:
  static constexpr Ticket kNoTicket = ~Ticket{0};

  /// Whether all that has a ticket is complete.
  bool allServed();
  bool failed();
  void end(Ticket ticket);
  /// The operation of `ticket` is complete.
  void serve(Ticket ticket);
  bool issueNote(std::function<void()>& note);

  struct Note {
    Ticket ticket = 0;
    std::function<void()> run;
  };

  friend class IssuedPlace;

  std::mutex running_;  // held by the one call that runs
  std::mutex mutex_;    // guards the rest, and writes to the counters
  std::condition_variable changed_;
  std::uint64_t issued_ = 0;  // tickets so far
  std::uint64_t served_ = 0;  // of these complete, in order
  std::uint32_t* failed_;     // null once closed
  std::deque<Note> notes_;    // of tickets that were not served, by these
  Status closed_;
};

/// The place in a communicator's order of an operation that runs later. Whoever owns it need not
/// see to it that the operation is carried out: a place that was not used is given up.
/// @threads one at a time
class IssuedPlace {
 public:
  /// @param order also kept for as long as the turn lasts
  explicit IssuedPlace(std::shared_ptr<OperationOrder> order) : order_(std::move(order)) {}

  IssuedPlace(IssuedPlace&&) noexcept = default;

  IssuedPlace& operator=(IssuedPlace&& other) noexcept {
    std::swap(order_, other.order_);
    std::swap(ticket_, other.ticket_);
    return *this;
  }

  IssuedPlace(const IssuedPlace&) = delete;
  IssuedPlace& operator=(const IssuedPlace&) = delete;

  /// Waits for the turn of a place that is left unused.
  ~IssuedPlace() {
    if (order_ != nullptr && ticket_ != OperationOrder::kNoTicket) (void)waitTurn();
  }

  void issue() { ticket_ = order_->issue(); }

  /// To be called once, after issue(). The turn must end before this object does.
  OperationOrder::Turn waitTurn() {
    return order_->waitTurn(std::exchange(ticket_, OperationOrder::kNoTicket));
  }

 private:
  std::shared_ptr<OperationOrder> order_;  // shared with the communicator, which may end earlier
  OperationOrder::Ticket ticket_ = OperationOrder::kNoTicket;
};

}  // namespace rondo
