// The receiving end of a connection over TCP: what comes goes into slots for the executor, credits
// go back.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>

#include "src/net/file_descriptor.h"
#include "src/status.h"
#include "transports/private_connection.h"
#include "transports/tcp/wire.h"

namespace rondo::tcp {

/// @threads one at a time; arrived() and released() any.
class RecvLink {
 public:
  /// A link whose peer has not connected yet.
  /// @param connection shared, since a link of another transport may have made it
  RecvLink(int peer, std::shared_ptr<PrivateConnection> connection);

  int peer() const { return peer_; }

  /// -1 before adopt() and after the end.
  int socket() const { return socket_.get(); }

  bool connected() const { return connected_; }

  ConnectionMemory memory() { return connection_->memory(); }

  /// The peer has connected: it sends on `socket`, from `peerSlots` slots of its own. It may have
  /// more than this end; what has no room here waits in the socket.
  void adopt(FileDescriptor socket, std::uint32_t peerSlots);

  /// Whether there is a slot for what comes next: if not, only the executor's next release can
  /// bring more.
  bool hasRoom() const { return arrived() - released() < connection_->slotCount(); }

  /// Receives and sends what is possible at once.
  /// @return whether something moved.
  /// @errors Mismatch: the peer does not keep to the protocol. An ended connection is none: the
  ///   peer's state says whether that matters.
  Result<bool> progress();

  /// Tells the peer what was released last, and takes no more: who still sends finds the connection
  /// ended.
  void close();

  /// Whether nothing more will come from the peer on this link.
  bool ended() const { return ended_; }

  /// Why it ended, if not by a goodbye; else empty.
  const std::string& whyLost() const { return whyLost_; }

  /// Slots that have come, so far.
  std::uint64_t arrived() const { return host::observeCounter(connection_->control().tail.value); }

  /// Slots that the executor has released, so far.
  std::uint64_t released() const { return host::observeCounter(connection_->control().head.value); }

 private:
  Result<bool> takeSlots();
  Status onHeader();
  void onPayload();
  std::span<std::byte> place();
  bool sendCredit();
  void end(std::string why);

  int peer_;
  std::string name_;  ///< of the peer, for errors
  FileDescriptor socket_;
  std::uint32_t peerSlots_ = 0;
  std::shared_ptr<PrivateConnection> connection_;
  SlotHeader header_{};            ///< of the slot that is coming
  std::size_t receivedBytes_ = 0;  ///< of that slot, header included
  std::array<std::byte, sizeof(Credit)> credit_{};
  std::size_t creditBytes_ = sizeof(Credit);  ///< of credit_ that have gone out
  std::uint64_t credited_ = 0;                ///< the last credit, gone or going
  bool connected_ = false;
  bool ended_ = false;
  std::string whyLost_;
};

}  // namespace rondo::tcp
