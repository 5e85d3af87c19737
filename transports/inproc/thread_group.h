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

#include "transports/doorbell_place.h"
#include "transports/private_connection.h"
#include "transports/rank_group.h"

namespace rondo::inproc {

/// Between ranks that share an address space: every address names itself.
class Addresses final : public MemoryNames {
 public:
  std::optional<SlotPlace> nameOf(const std::byte* data, std::size_t /*bytes*/) override {
    return SlotPlace{0, reinterpret_cast<std::uintptr_t>(data)};
  }

  const std::byte* find(const SlotPlace& place) override {
    return reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(place.offset));
  }
};

class ThreadGroup final : public RankGroup {
 public:
  /// @param slotBytes   bytes of each slot, a multiple of 64
  /// @param slotCount   slots per connection, 1..kMaxSlots
  ThreadGroup(int ranks, std::size_t slotBytes, std::uint32_t slotCount);
  ~ThreadGroup() override;
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  /// Slot memory is reserved when first asked for and touched by its first use.
  Result<ConnectionMemory> connection(int from, int to, int channel) override;

  std::optional<MailboxMemory> mailbox(int rank) override;

  CallRecord& record(int rank) override { return records_[static_cast<std::size_t>(rank)]; }

  host::WaitPlace& waitPlace(int rank) override { return places_[static_cast<std::size_t>(rank)]; }

  std::string_view transportTo(int /*rank*/) const override { return "inproc"; }

  /// Threads do not outlive their process, nor die before it.
  std::string whyLost(int /*rank*/) override { return {}; }

  std::string describe() const override;

  /// Of all ranks.
  std::vector<TransportMemory> memory() const override;

  void fail(const Status& failure) override;

  std::uint32_t& failedFlag() override { return failed_; }

  Status failure() const override;

 private:
  using Key = std::tuple<int, int, int>;  // from, to, channel

  std::size_t slotBytes_;
  std::uint32_t slotCount_;
  Addresses addresses_;
  std::vector<CallRecord> records_;
  std::vector<Mailbox> mailboxes_;
  std::vector<Doorbell> bells_;
  std::vector<DoorbellPlace> places_;  // at the bells, by rank
  alignas(64) std::uint32_t failed_ = 0;
  mutable std::mutex mutex_;
  std::map<Key, std::unique_ptr<PrivateConnection>> connections_;
  Status failure_;
};

}  // namespace rondo::inproc
