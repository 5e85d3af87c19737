// The sending end of a connection over verbs: what the executor has put into slots, or left in
// buffers that the program has registered, is written into the peer's slots; credits come back.
#pragma once

#include <optional>
#include <string>

#include "transports/tcp/send_link.h"
#include "transports/verbs/link_end.h"

namespace rondo::verbs {

/// @threads as LinkEnd
class SendLink final : public LinkEnd, private MemoryNames {
 public:
  /// An end that `socket` leads to the peer of; whoever makes it has to call tell().
  SendLink(EndParts parts, FileDescriptor socket) : LinkEnd(std::move(parts)) {
    takeSocket(std::move(socket));
  }

  /// An end whose peer cannot be reached; it has ended from the start.
  SendLink(EndParts parts, std::string whyEnded)
      : LinkEnd(std::move(parts)), gone_(std::move(whyEnded)) {}

  ConnectionMemory memory() {
    ConnectionMemory memory = LinkEnd::memory();
    memory.names = this;
    memory.adapterReads = true;
    return memory;
  }

  /// Says to the peer what this end is.
  void tell();

  /// Sends and takes what is possible at once.
  /// @param look whether to look at the socket, too
  /// @return whether something moved.
  /// @errors Mismatch: the peer does not keep to the protocol; SystemError: this rank's adapter, or
  ///   the path to the peer's, which has not ended as far as its socket tells.
  Result<bool> progress(bool look);

  /// Whether all that was posted has arrived in the peer's memory, or never can: what an adapter
  /// still has to send is lost when this process ends.
  bool flushed() const { return detour_ ? detour_->flushed() : ended() || completed_ == filled(); }

  /// Whether the peer has taken all that was posted, and the adapter reads none of it any more; or
  /// the peer never can.
  bool taken() const { return ended() || released() == filled(); }

  /// Why what was posted and not taken never will be; else empty.
  std::string whyLost() const { return released() == filled() ? std::string() : whyEnded(); }

  std::uint64_t posted() const { return filled(); }

  /// What becomes readable when there is something to do; -1: nothing.
  int watched() const {
    // A peer from which nothing is expected may leave; the end of its socket must wake nobody then.
    if (taken()) return -1;
    return detour_ ? detour_->socket() : socket();
  }

  /// Waits until the adapter has delivered what it was given, or cannot.
  void awaitWrites(Deadline deadline);

  /// While no operation runs: has the adapter read no buffer any more. It may do so still after the
  /// peer has left, which has all of it then, and after operations that have failed.
  void finishReading();

  /// Says that nothing follows.
  void close();

 private:
  /// A payload as the adapter finds it.
  struct Payload {
    std::uintptr_t address = 0;
    std::uint32_t key = 0;
  };

  // MemoryNames, for the executor of this rank.
  std::optional<SlotPlace> nameOf(const std::byte* data, std::size_t bytes) override;

  const std::byte* find(const SlotPlace& /*place*/) override { return nullptr; }  // nobody asks

  void withdraw() override;

  Payload payloadOf(std::uint64_t number) const;

  bool ended() const { return !whyEnded().empty(); }

  const std::string& whyEnded() const { return detour_ ? detour_->whyLost() : gone_; }

  Status readMessages();
  Status onMessage(const Frame& frame);
  Status explainFailure();
  Result<bool> takeCompletions();
  Status onCompletion(const ibv_wc& completion);
  Status takeCredit(std::uint64_t credit);
  void release(std::uint64_t count);
  Result<bool> postSlots();
  Status postSlot(std::uint64_t number);
  Status postPayload(std::uint64_t number, std::uint64_t bytes);
  void end(std::string why);

  std::uint64_t sent_ = 0;               ///< slots handed to the adapter
  std::uint64_t completed_ = 0;          ///< slots of which it says that they are there
  std::uint64_t credit_ = 0;             ///< slots of which the peer says that they are released
  std::uint64_t lastFromBuffer_ = 0;     ///< slots handed over up to the last one from a buffer
  std::string gone_;                     ///< why nothing can be sent any more
  std::optional<tcp::SendLink> detour_;  ///< once both ends have agreed on it
};

}  // namespace rondo::verbs
