// The verbs transport: reaches ranks by the adapters of both, one queue pair per connection. Each
// end of a connection has slots of its own; the sender's adapter writes into the receiver's.
// docs/transports.md draws who writes what where.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "transports/verbs/device.h"
#include "transports/verbs/make_transport.h"
#include "transports/verbs/recv_link.h"
#include "transports/verbs/send_link.h"
#include "transports/verbs/trials.h"
#include "transports/wire_links.h"

namespace rondo::verbs {

class VerbsTransport final : public Transport {
 public:
  explicit VerbsTransport(TransportParts parts) : parts_(std::move(parts)) {}

  std::string_view name() const override { return "verbs"; }

  bool sharesMemory() const override { return false; }

  /// "3@E0a000001/E0a000102@10.0.0.1:4000": the rank, its ports (reach.h), its control plane.
  Result<std::string> offer() override;

  bool canReach(int peer, std::string_view offer) const override;

  /// Also tries whether memory for a connection can be registered: where it cannot, all ranks do
  /// without verbs, rather than find out one by one.
  Status open(const std::vector<std::string>& offers, Deadline deadline) override;

  bool triesPaths() const override { return true; }

  std::string inviteToTrials(const std::vector<bool>& opened,
                             const std::vector<bool>& served) override;
  void acceptTrials(const std::vector<std::string>& invitations, Deadline deadline) override;
  std::string runTrials(Deadline deadline) override;
  void learnTrials(const std::vector<std::string>& findings) override;
  std::string whyNoPath(int peer) const override;

  /// Makes the connection if this rank sends; if it receives, the peer makes it.
  /// An adapter that lacks something for it makes it take a detour, of which both ends know.
  /// @errors those of ControlPlane::dial() but PeerLost, which whyLost() tells; OutOfMemory;
  ///   SystemError (the adapter lacks something, and there must be no detour).
  Result<ConnectionMemory> connect(int from, int to, int channel) override;

  Result<bool> progress() override;

  bool flushed() const override { return links_.flushed(); }

  bool taken() const override { return links_.taken(); }

  Traffic traffic(int peer) const override { return links_.traffic(peer); }

  bool drained(int peer) const override { return links_.drained(peer); }

  std::string whyLost(int peer) const override { return links_.whyLost(peer); }

  void watch(std::vector<int>& descriptors) const override;

  std::size_t memoryBytes() const override { return parts_.account.held(); }

  /// With all adapters. Where one does not take it, what that one sends is copied, as one warning
  /// says.
  void registerMemory(std::uint64_t number, std::span<const std::byte> memory) override;

  void deregisterMemory(std::uint64_t number) override;

  void close() override;

 private:
  using Links = WireLinks<SendLink, RecvLink>;

  /// Of the paths between two hosts, whichever of their ranks have found it.
  struct HostFindings {
    std::set<std::size_t, std::greater<>> failed;  ///< numbers of paths
    std::string why;
  };

  HostFindings findingsTowards(int peer, const std::vector<TrialFindings>& findings) const;
  void warnOfFailedPaths(const std::vector<TrialFindings>& findings) const;
  const PortPair& choosePorts(int peer, int channel) const;
  Result<EndParts> makeEnd(int from, int to, int channel);
  void warnOfLinkLocal(int peer, const PortChoice& place);
  void warnOfDetour(const std::string& connection, const Status& why);
  Result<ConnectionMemory> connectSend(int to, int channel);
  Result<RecvLink*> receivingEnd(int from, int channel);
  Status lookAround();
  Status adoptArrivals();
  Status checkPorts();
  std::chrono::milliseconds patience() const;

  TransportParts parts_;
  std::string ownPorts_;  // as offered
  std::vector<std::shared_ptr<Port>> ports_;
  std::vector<std::shared_ptr<Device>> devices_;  // of ports_, each once
  RegisteredBuffers buffers_;                     // with devices_
  std::vector<std::string> portWords_;            // by rank, as offered; empty: not reached
  std::vector<std::vector<PortPair>> paths_;      // by peer; empty: not reached
  std::vector<std::string> whyNoPath_;            // by peer
  Trials trials_;
  std::vector<std::set<int>> peersBy_;  // by place in ports_: with whom connections use it
  bool warnedOfLinkLocal_ = false;
  bool warnedOfDetour_ = false;
  bool warnedOfCopies_ = false;
  int idleTurns_ = 0;
  mutable bool slept_ = false;  // set by watch(), which also has the links' adapters report
  FileDescriptor alwaysReady_;  // stands for what is there already
  mutable Links links_;         // destroyed before the ports
};

}  // namespace rondo::verbs
