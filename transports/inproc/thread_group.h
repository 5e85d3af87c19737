// The inproc transport: ranks are threads of one process and share plain memory. A ThreadGroup is
// what the ranks of one communicator share: connections (made when first asked for), call records,
// and the failure that ends it for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "kernels/memory_order.h"
#include "src/status.h"
#include "transports/call_record.h"
#include "transports/connection.h"

namespace rondo::inproc {

/// @threads all members may be called by all ranks at the same time.
class ThreadGroup {
 public:
  /// @param slotBytes   bytes of each slot, a multiple of 64
  /// @param slotCount   slots per connection, 1..kMaxSlots
  ThreadGroup(int ranks, std::size_t slotBytes, std::uint32_t slotCount);
  ~ThreadGroup();
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  int ranks() const { return ranks_; }

  std::size_t slotBytes() const { return slotBytes_; }

  /// The connection from rank `from` to rank `to` on `channel`; both ends get the same memory,
  /// which lives as long as the group. Slot memory is reserved here and touched by its first use.
  /// @errors OutOfMemory
  Result<ConnectionMemory> connection(int from, int to, int channel);

  /// The line of `rank`; only that rank may change it.
  CallRecord& record(int rank) { return records_[static_cast<std::size_t>(rank)]; }

  /// Ends the communicator for all ranks with `failure`. Only the first failure counts.
  void fail(const Status& failure);

  /// Raised by fail(); looked at by every wait.
  std::uint32_t& failedFlag() { return failed_; }

  /// The failure that ended the communicator, or ok.
  Status failure() const;

 private:
  struct Storage;  // one connection's control lines and slots

  using Key = std::tuple<int, int, int>;  // from, to, channel

  int ranks_;
  std::size_t slotBytes_;
  std::uint32_t slotCount_;
  std::vector<CallRecord> records_;
  alignas(64) std::uint32_t failed_ = 0;
  mutable std::mutex mutex_;
  std::map<Key, std::unique_ptr<Storage>> connections_;
  Status failure_;
};

}  // namespace rondo::inproc
