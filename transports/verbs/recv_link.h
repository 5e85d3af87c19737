// The receiving end of a connection over verbs: the peer writes into its slots, credits go back.
#pragma once

#include <optional>
#include <string>

#include "transports/tcp/recv_link.h"
#include "transports/verbs/link_end.h"

namespace rondo::verbs {

/// @threads as LinkEnd
class RecvLink final : public LinkEnd {
 public:
  /// An end whose peer has not connected yet.
  explicit RecvLink(EndParts parts) : LinkEnd(std::move(parts)) {}

  /// The peer has connected: `socket` leads there, and what it is comes next. It sends from
  /// `peerSlots` slots of its own.
  void adopt(FileDescriptor socket, std::uint32_t peerSlots) {
    takeSocket(std::move(socket));
    peerSlots_ = peerSlots;
  }

  /// Whether slots can come.
  bool connected() const { return detour_ || LinkEnd::connected(); }

  /// What becomes readable when there is something to do; -1: nothing.
  int watched() const {
    if (!detour_) return socket();
    return hasRoom() ? detour_->socket() : -1;
  }

  /// Whether there is a slot for what comes next.
  bool hasRoom() const { return arrived() - released() < parts_.connection->slotCount(); }

  /// Takes and sends what is possible at once.
  /// @param look whether to look at the socket, too
  /// @return whether something moved.
  /// @errors Mismatch: the peer does not keep to the protocol; SystemError: this rank's adapter, or
  ///   the path to the peer's, which has not ended as far as its socket tells.
  Result<bool> progress(bool look);

  /// Tells the peer what was released last, and takes no more.
  void close();

  /// Whether nothing more will come from the peer on this link.
  bool ended() const { return detour_ ? detour_->ended() : ended_; }

  /// Why it ended, if not by a goodbye; else empty.
  const std::string& whyLost() const { return detour_ ? detour_->whyLost() : whyLost_; }

  std::uint64_t arrived() const { return filled(); }

 private:
  Status readMessages();
  Status onMessage(const Frame& frame);
  void offerDetour();
  void takeDetour();
  Status explainFailure();
  Result<bool> takeCompletions();
  Status onCompletion(const ibv_wc& completion);
  Status onSlot(std::uint32_t number);
  Result<bool> sendCredit();
  bool endIfAllCame();
  void end(std::string why);

  std::uint64_t credited_ = 0;         ///< the last credit, gone or going
  std::uint32_t creditsUnderWay_ = 0;  ///< that the adapter has not reported yet
  std::optional<std::uint64_t> last_;  ///< how many slots the peer has sent when it left
  Deadline lastDue_;                   ///< when they must have come
  bool ended_ = false;
  std::string whyLost_;
  std::uint32_t peerSlots_ = 0;
  bool detourDue_ = false;               ///< this end has said so; the peer's last word is missing
  std::optional<tcp::RecvLink> detour_;  ///< once both ends have agreed on it
};

}  // namespace rondo::verbs
