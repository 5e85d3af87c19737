// What both ends of a connection over verbs have: slots in registered memory, a queue pair, and the
// socket by which they told each other about them and by which they part; or by which slots go, if
// the adapter of one has no memory or no queue pair for them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "src/control/control_link.h"
#include "src/net/file_descriptor.h"
#include "src/status.h"
#include "transports/private_connection.h"
#include "transports/verbs/queue_pair.h"
#include "transports/verbs/registered_buffers.h"

namespace rondo::verbs {

/// What an end is made of. Destroyed in the order that libibverbs demands.
struct EndParts {
  int peer = 0;
  /// With room for a header per slot behind them. Shared with the link that takes a detour.
  std::shared_ptr<PrivateConnection> connection;
  Owned<ibv_mr> memory{nullptr, nullptr};  ///< all of it, registered; null: it takes a detour
  std::unique_ptr<QueuePair> pair{};       ///< likewise
  /// Of a sender: what it may send from besides slots; not owned. Null: nothing.
  const RegisteredBuffers* buffers = nullptr;
};

/// Room for headers behind the slots of a connection.
constexpr std::size_t headerBytes(std::uint32_t slots) {
  return slots * sizeof(SlotEntry);
}

/// Registers the memory of an end that has a connection, and makes its queue pair: both, or none.
/// @param receives whether the peer will write into its memory
/// @errors SystemError, which names port, bytes and, if that may be it, the limit of locked memory.
Status attachToAdapter(EndParts& parts, PortChoice place, bool receives, const Settings& settings);

/// @threads one at a time; posted() and released() any.
class LinkEnd {
 public:
  int peer() const { return parts_.peer; }

  ConnectionMemory memory() { return parts_.connection->memory(); }

  /// -1: none yet, or none any more.
  int socket() const { return socket_ ? socket_->socket() : -1; }

  /// Whether what is posted can cross.
  bool connected() const { return connected_; }

  /// Has the device report the next completion.
  /// @return false if there is something to do already.
  bool prepareSleep() { return !attached() || (!failing() && parts_.pair->prepareSleep()); }

  /// Slots that were filled at this end, so far: by the executor or by the peer.
  std::uint64_t filled() const {
    return host::observeCounter(parts_.connection->control().tail.value);
  }

  /// Slots that were released at this end, so far: by the executor or by the peer.
  std::uint64_t released() const {
    return host::observeCounter(parts_.connection->control().head.value);
  }

 protected:
  explicit LinkEnd(EndParts parts) : parts_(std::move(parts)) {}

  ~LinkEnd() = default;
  LinkEnd(const LinkEnd&) = delete;
  LinkEnd& operator=(const LinkEnd&) = delete;

  void takeSocket(FileDescriptor socket) { socket_.emplace(parts_.peer, std::move(socket)); }

  void closeSocket() { socket_.reset(); }

  /// Whether the adapter has memory and a queue pair for it; if not, it takes a detour, or has been
  /// stopped.
  bool attached() const { return parts_.pair != nullptr; }

  /// The next message that has come on the socket.
  /// @errors PeerLost: the socket's end.
  Result<std::optional<Frame>> nextMessage();

  /// Says what this end is, so that the peer can connect to it.
  /// @errors PeerLost.
  Status tellEndpoint();

  /// Says that slots have to take a detour.
  /// @errors PeerLost.
  Status tellDetour();

  /// For a detour on which both ends agree: the socket, after which the adapter has no part in it.
  FileDescriptor giveSocket();

  /// Has the adapter do nothing more with what was posted: on return it reads no memory of this
  /// end's any more, and what it had not sent is lost.
  void stopAdapter() { parts_.pair.reset(); }

  /// Connects the queue pair to the end that the peer has described.
  /// @errors Mismatch, SystemError.
  Status connectTo(const Frame& description);

  /// As the members of QueuePair; their errors name the peer, too.
  Status post(ibv_send_wr& request, ibv_sge& piece) {
    return named(parts_.pair->send(request, piece));
  }

  Status postReceive() { return named(parts_.pair->postReceive()); }

  /// Says how far this end has got, and ends the socket.
  void sayGoodbye(std::uint64_t count);

  /// Where the header of filling `number` is.
  SlotEntry* header(std::uint64_t number);

  /// Takes note of a completion that is no success: nothing can be posted from now on. That of
  /// the request that failed may come after those of requests that were not tried, which only say
  /// that the queue pair has stopped.
  void noteFailure(const ibv_wc& completion);

  /// Takes what the queue pair has completed: failures are noted, `onSuccess` gets the rest.
  /// @return whether there was any
  /// @errors those of `onSuccess`
  template <class OnSuccess>
  Result<bool> takeEach(const OnSuccess& onSuccess) {
    bool any = false;
    if (!attached()) return any;
    while (const ibv_wc* const completion = parts_.pair->nextCompletion()) {
      any = true;
      if (completion->status != IBV_WC_SUCCESS) {
        noteFailure(*completion);
      } else {
        RONDO_RETURN_IF_ERROR(onSuccess(*completion));
      }
    }
    return any;
  }

  bool failing() const { return failure_.has_value(); }

  /// Whether nothing more will be known of it.
  bool failureIsKnown() const { return failing() && causeDue_.passed(); }

  /// What has failed.
  std::string describeFailure() const;

  Status brokenProtocol(std::string_view fault) const;

  EndParts parts_;
  Endpoint peerEnd_;  ///< once connected

 private:
  Status named(Status status) const;

  std::optional<ControlLink> socket_;
  std::optional<ibv_wc> failure_;
  Deadline causeDue_;  // when to wait no more for a completion that tells more
  bool connected_ = false;
};

}  // namespace rondo::verbs
