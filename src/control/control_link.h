// One link between two ranks: frames in, frames out, without ever blocking.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "src/bootstrap/frame.h"
#include "src/control/messages.h"
#include "src/net/file_descriptor.h"

namespace rondo {

/// @threads one at a time.
class ControlLink {
 public:
  ControlLink(int peer, FileDescriptor socket);

  int peer() const { return peer_; }

  int socket() const { return socket_.get(); }

  /// Where frames for the peer are appended; sent by send().
  std::vector<std::byte>& output() { return output_; }

  bool hasOutput() const { return !output_.empty(); }

  /// Sends what can be sent at once.
  /// @errors PeerLost.
  Status send();

  /// The next frame that has come whole; nothing if none has.
  /// @errors PeerLost (the end of the link, or no frame of this version).
  Result<std::optional<Frame>> receive();

  /// The peer has said that it goes; the end of the link is no loss.
  void noteGoodbye() { saidGoodbye_ = true; }

  bool saidGoodbye() const { return saidGoodbye_; }

  /// Gives its socket to a protocol without frames. Nothing may be under way: all output was sent,
  /// and the peer sends nothing more before it has taken that.
  FileDescriptor release() { return std::move(socket_); }

  /// Closes it.
  void end() { socket_.reset(); }

  bool ended() const { return !socket_.valid(); }

 private:
  int peer_;
  FileDescriptor socket_;
  std::string name_;  ///< for errors
  FrameReader reader_{kMaxControlBytes};
  std::vector<std::byte> output_;
  bool saidGoodbye_ = false;
};

}  // namespace rondo
