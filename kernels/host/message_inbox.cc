#include "kernels/host/message_inbox.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "collectives/point_to_point/message_rounds.h"

namespace rondo::host {

std::optional<MessageInbox::Aside> MessageInbox::take(int tag) {
  const auto found = std::ranges::find_if(
      aside_, [tag](const Aside& message) { return message.label.tag() == tag; });
  if (found == aside_.end()) return std::nullopt;
  std::optional<Aside> taken = std::move(*found);
  aside_.erase(found);
  return taken;
}

void MessageInbox::received(MessageLabel label, std::size_t pieceBytes) {
  if (atStart()) piecesLeft_ = messagePieces(label.bytes(), pieceBytes);
  --piecesLeft_;
}

bool MessageInbox::putAside(RecvEnd& end, std::size_t pieceBytes) {
  const SlotEntry& entry = end.entry();
  const MessageLabel label(entry.call);
  const bool first = atStart();
  if (first) aside_.push_back({label, std::vector<std::byte>(label.bytes()), 0});
  // Behind what may throw: the sender waits for whoever has begun to read.
  if (!end.beginRead()) {
    end.cancelRead();
    if (first) aside_.pop_back();
    return false;
  }
  Aside& message = aside_.back();
  const std::size_t bytes =
      std::min<std::size_t>(entry.payloadBytes(), message.bytes.size() - message.filled);
  if (bytes > 0) std::memcpy(message.bytes.data() + message.filled, end.payload(), bytes);
  message.filled += bytes;
  received(label, pieceBytes);
  end.release();
  return true;
}

}  // namespace rondo::host
