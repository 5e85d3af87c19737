// The shm transport: ranks are processes of one host and share an arena that the lowest of them
// makes and hands out.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "src/bootstrap/secret_key.h"
#include "transports/shm/arena_exchange.h"
#include "transports/shm/shm_group.h"
#include "transports/transport.h"

namespace rondo::shm {

class ShmTransport final : public Transport {
 public:
  /// @param host equal exactly for ranks that can share memory; without line breaks
  /// @param key  known to the communicator's ranks only
  ShmTransport(int rank,
               std::string host,
               SlotShape slots,
               const SecretKey& key,
               SlotAccount account = SlotAccount());

  std::string_view name() const override { return "shm"; }

  bool sharesMemory() const override { return true; }

  /// Process, socket and host.
  Result<std::string> offer() override;

  bool canReach(int peer, std::string_view offer) const override;

  /// Makes the arena, or takes it. If the rank that makes it cannot, all learn so at once.
  Status open(const std::vector<std::string>& offers, Deadline deadline) override;

  Result<ConnectionMemory> connect(int from, int to, int channel) override;

  std::size_t memoryBytes() const override;
  std::size_t hugePageBytes() const override;

  /// Lets go of what board() and connections do not hold.
  void close() override {
    listener_.reset();
    group_.reset();
  }

  /// What the ranks share besides connections. Not null once open() was successful.
  std::shared_ptr<HostBoard> board() const { return group_; }

 private:
  struct Offer {
    pid_t process = 0;
    std::string socket;
    std::string host;
  };

  static std::optional<Offer> parse(std::string_view text);
  Result<Arena> shareArena(std::size_t own,
                           std::size_t members,
                           const std::string& maker,
                           Deadline deadline);

  const int rank_;
  const std::string host_;
  const SlotShape slots_;
  const SecretKey key_;
  SlotAccount account_;                    // until open(), which gives it to group_
  std::optional<ArenaListener> listener_;  // from offer() to open()
  std::shared_ptr<ShmGroup> group_;
};

}  // namespace rondo::shm
