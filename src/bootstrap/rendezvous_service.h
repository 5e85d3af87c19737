// The root's side of a rendezvous: one loop around poll() that takes connections, throws strangers
// out, and in each round collects one Join per rank and answers all of them together. Rendezvous
// owns the thread that runs it; the Roster knows what makes a round good or bad.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <poll.h>

#include "src/bootstrap/doorkeeper.h"
#include "src/bootstrap/frame.h"
#include "src/bootstrap/handshake.h"
#include "src/bootstrap/rendezvous_messages.h"
#include "src/bootstrap/roster.h"
#include "src/net/deadline.h"
#include "src/net/socket.h"

namespace rondo {

/// @threads run() by one; nothing else.
class RendezvousService {
 public:
  struct Parts {
    FileDescriptor listener;
    int stopSignal = -1;  ///< becomes readable when run() shall end; outlives this object
    SecretKey key;
    MessageAuthenticator authenticator;
    bool privateOnly = false;  ///< RendezvousSettings::privateOnly
  };

  explicit RendezvousService(Parts parts);
  RendezvousService(const RendezvousService&) = delete;
  RendezvousService& operator=(const RendezvousService&) = delete;
  RendezvousService(RendezvousService&&) = delete;
  RendezvousService& operator=(RendezvousService&&) = delete;
  ~RendezvousService();

  /// Serves until all ranks that came to the first round have said farewell or are gone, or until
  /// the stop signal. If the first round fails it stays, to tell ranks that come late.
  void run();

 private:
  struct Guest;
  /// Shared by the guests it is being sent to; the last one frees it.
  using Answer = std::shared_ptr<const std::vector<std::byte>>;

  bool finished() const;
  bool anyoneIs(int stage) const;  ///< a Guest::Stage

  void waitForEvents();
  Deadline nextDeadline() const;
  void welcome(Doorkeeper::Visitor visitor);

  void serve(Guest& guest);
  Status receive(Guest& guest);
  Status advance(Guest& guest, std::span<const std::byte> bytes);
  Status onFrame(Guest& guest, std::span<const std::byte> bytes);
  void enter(Guest& guest, JoinMessage join);
  void startAnswer(Guest& guest, const Answer& answer);
  Status sendAnswer(Guest& guest);
  void onAnswered(Guest& guest);
  void part(Guest& guest);

  void enforceDeadline(Guest& guest);
  void lose(Guest& guest, const Status& why);

  void succeed();
  void fail(const Status& why);
  void closeDoor();
  void answerAll(const Answer& answer);
  void stop();

  const int stopSignal_;
  Roster roster_;
  std::vector<std::unique_ptr<Guest>> guests_;  ///< oldest first
  std::vector<pollfd> events_;                  ///< of stopSignal, guests_, door_
  std::optional<Doorkeeper> door_;              ///< until all have come
  Answer failure_;  ///< what all guests are told from now on; null: nothing is wrong
  bool stopping_ = false;
};

}  // namespace rondo
