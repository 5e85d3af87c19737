// The sending end of a connection over TCP: what the executor has put into slots goes out, credits
// come back.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "src/net/file_descriptor.h"
#include "src/status.h"
#include "transports/private_connection.h"
#include "transports/tcp/wire.h"

namespace rondo::tcp {

/// @threads one at a time; posted() and released() any.
class SendLink {
 public:
  /// @param socket     an authenticated connection to `peer` that has been opened
  /// @param connection shared, since a link of another transport may have made it
  SendLink(int peer, FileDescriptor socket, std::shared_ptr<PrivateConnection> connection);

  /// A link to a peer that cannot be reached; it has ended from the start.
  SendLink(int peer, std::string whyEnded, std::shared_ptr<PrivateConnection> connection)
      : peer_(peer), connection_(std::move(connection)), whyEnded_(std::move(whyEnded)) {}

  int peer() const { return peer_; }

  int socket() const { return socket_.get(); }

  ConnectionMemory memory() { return connection_->memory(); }

  /// Sends and receives what is possible at once.
  /// @return whether something moved.
  /// @errors Mismatch: the peer does not keep to the protocol. An ended connection is none: the
  ///   peer's state says whether that matters.
  Result<bool> progress();

  /// Whether all that was posted is on its way, or can never be.
  bool flushed() const { return ended() || sent_ == posted(); }

  /// Whether the peer has taken all that was posted, or never can.
  bool taken() const { return ended() || released() == posted(); }

  /// Why nothing more can be sent; empty while it can.
  const std::string& whyLost() const { return whyEnded_; }

  /// Slots that the executor has filled, so far.
  std::uint64_t posted() const { return host::observeCounter(connection_->control().tail.value); }

  /// Slots that the peer is known to have released, so far.
  std::uint64_t released() const { return host::observeCounter(connection_->control().head.value); }

  /// Tells the peer that nothing follows, and closes the connection.
  void close();

 private:
  bool ended() const { return !whyEnded_.empty(); }

  Result<bool> takeCredits();
  bool sendSlots();
  bool sendMore(const SlotHeader& header);

  int peer_;
  FileDescriptor socket_;
  std::string name_;  ///< of the peer, for errors
  std::shared_ptr<PrivateConnection> connection_;
  std::uint64_t sent_ = 0;     ///< slots that have gone out whole
  std::size_t sentBytes_ = 0;  ///< of the next one, header included
  std::array<std::byte, sizeof(Credit)> credit_{};
  std::size_t creditBytes_ = 0;  ///< of credit_ that have come
  std::string whyEnded_;
};

}  // namespace rondo::tcp
