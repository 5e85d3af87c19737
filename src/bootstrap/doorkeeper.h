// Takes the connections that come to a listening socket and lets in whoever proves to know the
// secret. Strangers get nothing but a hello; they are dropped in time, bounded in number, and
// logged sparingly. Runs in the poll() loop of its owner.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <poll.h>

#include "src/bootstrap/handshake.h"
#include "src/bootstrap/log_quota.h"
#include "src/net/deadline.h"
#include "src/net/socket.h"

namespace rondo {

/// @threads one at a time.
class Doorkeeper {
 public:
  /// Connections that have not proved themselves; beyond it the oldest has to go. More take more
  /// file descriptors; fewer let a burst of ranks push each other out, which costs them a retry.
  static constexpr std::size_t kMostHalfOpen = 256;

  /// Somebody who has proved to know the secret.
  struct Visitor {
    FileDescriptor socket;
    std::string name;  ///< its address
    PeerIdentity identity;
  };

  struct Parts {
    FileDescriptor listener;
    SecretKey key;
    MessageAuthenticator authenticator;
    std::string_view what;     ///< whose door it is, for the log; static text
    bool privateOnly = false;  ///< turn away who does not come by a private network
  };

  explicit Doorkeeper(Parts parts);
  Doorkeeper(const Doorkeeper&) = delete;
  Doorkeeper& operator=(const Doorkeeper&) = delete;
  Doorkeeper(Doorkeeper&&) = delete;
  Doorkeeper& operator=(Doorkeeper&&) = delete;
  ~Doorkeeper();

  /// Appends what is to be polled, at most kMostHalfOpen + 1 entries.
  void addEvents(std::vector<pollfd>& events);

  /// Until when poll() may wait for them.
  Deadline nextDeadline() const;

  /// Goes on with all connections for which something has happened.
  /// @param events what addEvents() appended, after poll().
  /// @return those who are convinced and convincing now.
  std::vector<Visitor> serve(std::span<const pollfd> events);

 private:
  struct Guest;

  void takeConnections();
  void admit(AcceptedConnection connection);
  bool mayCome(const AcceptedConnection& connection);
  void pauseAccepting(const Status& why);
  void evictOldest();
  Status receive(Guest& guest);
  void lose(Guest& guest, const Status& why);
  void logStranger(std::string_view name, const Status& why);

  const Parts parts_;
  std::vector<std::unique_ptr<Guest>> guests_;  ///< oldest first
  Deadline acceptPause_ = Deadline::immediate();
  bool accepting_ = true;  ///< whether the last addEvents() was after the pause
  LogQuota strangerQuota_;
};

}  // namespace rondo
