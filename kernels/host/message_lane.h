// One lane of a group's point-to-point messages being run on host memory: the rounds, the
// connection ends they use, and how far it has come. What kernels/host/lane.h is to collectives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "kernels/host/lane.h"
#include "kernels/host/message_inbox.h"
#include "kernels/host/message_table.h"
#include "transports/connection.h"

namespace rondo::host {

/// What a message is besides its length.
struct MessageMemory {
  const std::byte* source = nullptr;  ///< of one that is sent
  std::byte* target = nullptr;        ///< of one that is received
  MessageLabel label{0};              ///< carried by its slots; both ends must give the same
};

/// @threads one at a time.
class MessageLane {
 public:
  /// What a lane waits for.
  struct Wait {
    Blocked blocked;
    std::size_t message = 0;  ///< in the caller's list
  };

  /// Where a round receives from.
  struct Source {
    RecvEnd* end = nullptr;  ///< null: nowhere
    MessageInbox* inbox = nullptr;
  };

  /// Ends by round; null where a round has none. Not owned, nor is `messages`, by number.
  /// @param elsewhereBytes as Work::elsewhereBytes
  MessageLane(MessageTable table,
              std::vector<SendEnd*> send,
              std::vector<Source> recv,
              std::span<const MessageMemory> messages,
              std::size_t elsewhereBytes);

  /// Goes back to the first step, for messages like those before; what `messages` says may have
  /// changed.
  void restart();

  /// Runs the next step if it is ready, or puts a slot aside that is in its way. Never blocks.
  /// After kMismatch wait() says whose slot it is.
  /// @throws std::bad_alloc while something is put aside
  StepResult tryStep();

  /// What keeps the next step from running, or the last one's payload from being released; nothing
  /// if a step could run, or there is nothing to wait for.
  std::optional<Wait> wait();

  /// As Lane::withdraw().
  void withdraw(const std::function<void(int)>& onReader);

 private:
  struct Ends {
    std::vector<SendEnd*>& send;
    std::vector<Source>& recv;

    bool sendSlotFree(int entry) { return send[static_cast<std::size_t>(entry)]->slotFree(); }

    bool recvSlotFull(int entry) { return recv[static_cast<std::size_t>(entry)].end->slotFull(); }
  };

  /// What a step that receives finds.
  enum class Found : std::uint8_t {
    kNothing,
    kPiece,       ///< the one that it is for
    kOtherTag,    ///< a message that is waited for another time
    kOtherLabel,  ///< the message that it is for, but of another type or count
  };

  bool ready(const MessageStep& step);
  Found find(const MessageStep& step);
  bool hasAside(const MessageStep& step) const;
  /// The label that `step` has found, which is not its message's.
  MessageLabel foundLabel(const MessageStep& step) const;
  StepResult receive(const MessageStep& step);
  void send(const MessageStep& step);
  void take(const MessageStep& step);
  std::optional<Wait> unsettled() const;

  MessageTable table_;
  std::size_t size_;
  std::vector<SendEnd*> send_;
  std::vector<Source> recv_;
  std::span<const MessageMemory> messages_;
  std::size_t elsewhereBytes_;
  /// The message being received, if it had been put aside.
  std::optional<MessageInbox::Aside> aside_;
  std::size_t next_ = 0;
  /// By round: the last message of which a payload was not copied; empty: there are none.
  std::vector<std::optional<std::size_t>> elsewhere_;
};

}  // namespace rondo::host
