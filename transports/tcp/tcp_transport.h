// The tcp transport: reaches any rank that has an address, by one socket per connection. Each end
// of a connection has slots of its own; progress() moves them across.
#pragma once

#include "src/control/control_plane.h"
#include "transports/slot_account.h"
#include "transports/tcp/recv_link.h"
#include "transports/tcp/send_link.h"
#include "transports/transport.h"
#include "transports/wire_links.h"

namespace rondo::tcp {

class TcpTransport final : public Transport {
 public:
  /// @param control    makes and takes the connections; must outlive this object.
  /// @param whyNot     if `control` is null: why this rank has none.
  /// @param connectTimeout for the making of one connection.
  /// @param account    pays for the slots of this rank's ends.
  TcpTransport(int rank,
               SlotShape slots,
               ControlPlane* control,
               Status whyNot,
               std::chrono::milliseconds connectTimeout,
               SlotAccount account = SlotAccount());

  std::string_view name() const override { return "tcp"; }

  bool sharesMemory() const override { return false; }

  /// The addresses of the control plane.
  Result<std::string> offer() override;

  bool canReach(int peer, std::string_view offer) const override;

  Status open(const std::vector<std::string>& offers, Deadline deadline) override;

  /// Makes the connection if this rank sends; if it receives, the peer makes it when it gets there.
  /// @errors those of ControlPlane::dial() but PeerLost, which whyLost() tells; OutOfMemory.
  Result<ConnectionMemory> connect(int from, int to, int channel) override;

  Result<bool> progress() override;

  bool flushed() const override { return links_.flushed(); }

  bool taken() const override { return links_.taken(); }

  Traffic traffic(int peer) const override { return links_.traffic(peer); }

  bool drained(int peer) const override { return links_.drained(peer); }

  std::string whyLost(int peer) const override { return links_.whyLost(peer); }

  void watch(std::vector<int>& descriptors) const override;

  std::size_t memoryBytes() const override { return account_.held(); }

  void close() override { links_.close(); }

 private:
  using Links = WireLinks<SendLink, RecvLink>;

  Result<ConnectionMemory> connectSend(int to, int channel);
  Result<ConnectionMemory> connectRecv(int from, int channel);
  Status adoptArrival(Links::Key key, RecvLink& link);

  const int rank_;
  const SlotShape slots_;
  ControlPlane* const control_;
  const Status whyNot_;
  const std::chrono::milliseconds connectTimeout_;
  SlotAccount account_;
  Links links_;
};

}  // namespace rondo::tcp
