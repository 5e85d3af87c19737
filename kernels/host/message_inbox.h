// What has come from one rank: which message its next slot belongs to, and the messages that came
// before one with a tag that was waited for, put aside until they are waited for themselves.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "kernels/host/message_label.h"
#include "transports/connection.h"

namespace rondo::host {

/// Of a connection's receiving end, for as long as that lives: messages follow each other there,
/// each in pieces of one size but for its last. @threads one at a time
class MessageInbox {
 public:
  /// A message, or as much of it as has come.
  struct Aside {
    MessageLabel label{0};
    std::vector<std::byte> bytes;
    std::size_t filled = 0;
  };

  /// The oldest message with that tag that was put aside leaves for who waits for it; the rest of
  /// it, if it is not whole, is what the next slots hold. Nothing if there is none.
  std::optional<Aside> take(int tag);

  /// Whether the next slot is the first of a message.
  bool atStart() const { return piecesLeft_ == 0; }

  /// A slot of a message with that label was received.
  /// @param pieceBytes most bytes in a slot
  void received(MessageLabel label, std::size_t pieceBytes);

  /// Puts the payload of the full slot of `end` aside, wherever it is, and releases the slot. False
  /// if the sender has withdrawn it: its operation has failed, and so will this one.
  /// @throws std::bad_alloc; nothing was changed
  bool putAside(RecvEnd& end, std::size_t pieceBytes);

  /// In the order in which they came.
  const std::deque<Aside>& aside() const { return aside_; }

 private:
  std::size_t piecesLeft_ = 0;  // of the message that has come in part
  std::deque<Aside> aside_;     // the last one may be in part
};

}  // namespace rondo::host
