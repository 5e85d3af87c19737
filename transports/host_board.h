// What the ranks of one host know of each other without asking: call records, the failure that
// ended the communicator, whose process is gone. Ranks that share memory share one board; any other
// rank has one of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/host/wait_place.h"
#include "kernels/memory_order.h"
#include "transports/call_record.h"
#include "transports/doorbell_place.h"
#include "transports/mailbox.h"
#include "transports/shared_failure.h"

namespace rondo {

/// One rank's view of it. @threads any, but for waitPlace().
class HostBoard {
 public:
  virtual ~HostBoard() = default;

  /// The record of `rank`, which is on the board; only that rank may change it.
  virtual CallRecord& record(int rank) = 0;

  /// The mailbox of `rank`, which is on the board; empty if the board has but one rank.
  virtual std::optional<MailboxMemory> mailbox(int /*rank*/) { return std::nullopt; }

  /// Why nothing more can be expected of `rank`, which is on the board: "its process has ended";
  /// empty while it lives.
  virtual std::string whyLost(int rank) const = 0;

  /// Ends the communicator for all ranks on the board, and wakes those that sleep.
  virtual void fail(const Status& failure) = 0;

  /// The failure, if there is one. Valid as long as the board.
  virtual SharedFailure& failure() = 0;

  /// True for the first of the ranks on the board that asks: what concerns them all is said once.
  virtual bool claimNotice() = 0;

  /// Does what others of the board have asked of the own rank; at least once in each turn of a
  /// rank that waits. @threads its rank's
  virtual void lookAround() {}

  /// Where the own rank sleeps until one of the board changes something. @threads its rank's
  virtual host::WaitPlace& waitPlace() = 0;

 protected:
  HostBoard() = default;
  HostBoard(const HostBoard&) = default;
  HostBoard& operator=(const HostBoard&) = default;
};

/// The board of a rank that shares memory with none.
class PrivateBoard final : public HostBoard {
 public:
  CallRecord& record(int /*rank*/) override { return record_; }

  std::string whyLost(int /*rank*/) const override { return {}; }

  void fail(const Status& failure) override {
    failure_.raise(failure);
    bell_.ring();
  }

  SharedFailure& failure() override { return failure_; }

  bool claimNotice() override { return host::claimWord(noticed_, 0, 1); }

  host::WaitPlace& waitPlace() override { return place_; }

 private:
  CallRecord record_;
  SharedFailure failure_;
  std::uint64_t noticed_ = 0;
  Doorbell bell_;
  DoorbellPlace place_{bell_};
};

}  // namespace rondo
