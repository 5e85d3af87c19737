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
#include "kernels/host/message_table.h"
#include "transports/connection.h"

namespace rondo::host {

/// What a message is besides its length.
struct MessageMemory {
  const std::byte* source = nullptr;  ///< of one that is sent
  std::byte* target = nullptr;        ///< of one that is received
  std::uint64_t label = 0;            ///< carried by its slots; both ends must give the same
};

/// @threads one at a time.
class MessageLane {
 public:
  /// What a lane waits for.
  struct Wait {
    Blocked blocked;
    std::size_t message = 0;  ///< in the caller's list
  };

  /// Ends by round; null where a round has none. Not owned, nor is `messages`, by number.
  /// @param elsewhereBytes as Work::elsewhereBytes
  MessageLane(MessageTable table,
              std::vector<SendEnd*> send,
              std::vector<RecvEnd*> recv,
              std::span<const MessageMemory> messages,
              std::size_t elsewhereBytes);

  /// Runs the next step if it is ready. Never blocks. After kMismatch wait() says whose slot it is.
  StepResult tryStep();

  /// What keeps the next step from running, or the last one's payload from being released; nothing
  /// if a step could run, or there is nothing to wait for.
  std::optional<Wait> wait();

  /// As Lane::withdraw().
  void withdraw(const std::function<void(int)>& onReader);

 private:
  struct Ends {
    std::vector<SendEnd*>& send;
    std::vector<RecvEnd*>& recv;

    bool sendSlotFree(int entry) { return send[static_cast<std::size_t>(entry)]->slotFree(); }

    bool recvSlotFull(int entry) { return recv[static_cast<std::size_t>(entry)]->slotFull(); }
  };

  bool slotMatches(const MessageStep& step) const;
  void send(const MessageStep& step);
  void receive(const MessageStep& step);
  std::optional<Wait> unsettled() const;

  MessageTable table_;
  std::size_t size_;
  std::vector<SendEnd*> send_;
  std::vector<RecvEnd*> recv_;
  std::span<const MessageMemory> messages_;
  std::size_t elsewhereBytes_;
  std::size_t next_ = 0;
  /// By round: the last message of which a payload was not copied; empty: there are none.
  std::vector<std::optional<std::size_t>> elsewhere_;
};

}  // namespace rondo::host
