// A reliable connection between two ranks' adapters: a queue pair with a completion queue of its
// own, so that what completes needs no sorting and one connection's burst cannot overrun another.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "transports/verbs/device.h"
#include "transports/verbs/wire.h"

namespace rondo::verbs {

/// Which port, and which of its addresses.
struct PortChoice {
  std::shared_ptr<Port> port;
  std::size_t gid = 0;  ///< place in Port::gids()
};

/// What a queue pair must have room for.
struct QueueDepths {
  std::uint32_t sends = 0;
  std::uint32_t receives = 0;
};

/// @threads one at a time
class QueuePair {
 public:
  /// In a state in which it takes receives and nothing comes. Its receives are posted: they hold
  /// no data, only immediates.
  /// @param peerWrites whether the peer may write into registered memory
  /// @errors SystemError, which names the port.
  static Result<std::unique_ptr<QueuePair>> make(PortChoice place,
                                                 QueueDepths depths,
                                                 bool peerWrites,
                                                 const Settings& settings);

  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  /// What the peer needs to know; without memory.
  Endpoint endpoint() const;

  /// Makes it ready for sending and receiving. The end that sends first must be connected last.
  /// @errors SystemError.
  Status connect(const Endpoint& peer);

  /// Posts `request`, within the depths that were asked for; sent inline if that is possible.
  /// @errors SystemError.
  Status send(ibv_send_wr& request, ibv_sge& piece);

  /// Gives a receive back whose completion was taken.
  /// @errors SystemError.
  Status postReceive();

  /// The next completion; null if there is none. Valid until the next call.
  const ibv_wc* nextCompletion();

  /// Has the device's channel report the next completion.
  /// @return false if some are there already.
  bool prepareSleep();

  /// Takes the reports of `device`'s channel.
  static void takeReports(Device& device);

  Port& port() const { return *place_.port; }

 private:
  QueuePair(PortChoice place, const Settings& settings);

  Status create(QueueDepths depths);
  Status initialise(bool peerWrites);
  Status readyToReceive(const Endpoint& peer);
  Status readyToSend();
  Status modify(ibv_qp_attr& attributes, int mask, const char* state);
  bool fill();

  const Library& library() const { return port().device().library(); }

  const PortChoice place_;
  const Settings settings_;
  const std::uint32_t firstPacket_;
  std::uint32_t inlineBytes_ = 0;
  bool reporting_ = false;  // the channel will report
  Owned<ibv_cq> queue_;
  Owned<ibv_qp> pair_;  // before queue_ is destroyed
  std::array<ibv_wc, 16> completions_{};
  int count_ = 0;
  int next_ = 0;
};

}  // namespace rondo::verbs
