#include "src/control/dialer.h"

#include <chrono>
#include <utility>

#include "src/net/address_list.h"
#include "src/net/backoff.h"

namespace rondo {

namespace {

/// For one address to answer.
constexpr std::chrono::milliseconds kTry{1000};

/// A rank listens until it ends, so one that refuses is gone; but its host may be short of
/// something for a moment.
constexpr std::chrono::milliseconds kRefusalPatience{2000};

Result<FileDescriptor> dialOnce(const SocketAddress& address,
                                const SecretKey& key,
                                const PeerIdentity& self,
                                Deadline deadline) {
  Result<FileDescriptor> socket = connectOnce(address, earlier(deadline, Deadline::within(kTry)));
  RONDO_RETURN_IF_ERROR(socket.status());
  RONDO_RETURN_IF_ERROR(authenticateAsClient(socket->get(), key, self,
                                             earlier(deadline, Deadline::within(kHandshakeTimeout)),
                                             address.text()));
  return socket;
}

/// Not the peer being busy or its network slow: it, or its host, says no.
bool isRefusal(const Status& status) {
  return status.code() == StatusCode::kPeerLost || status.code() == StatusCode::kMismatch;
}

}  // namespace

Result<FileDescriptor> dialRank(int peer,
                                std::span<const SocketAddress> addresses,
                                const SecretKey& key,
                                const PeerIdentity& self,
                                Deadline deadline,
                                const std::function<Status()>& givenUp) {
  if (addresses.empty()) return Status::notSupported("rank {} has no address", peer);
  Backoff backoff;
  const Deadline refused = Deadline::within(kRefusalPatience);
  for (;;) {
    Status refusal;
    Status cause;
    bool mayAnswer = false;
    for (const SocketAddress& address : addresses) {
      RONDO_RETURN_IF_ERROR(givenUp());
      Result<FileDescriptor> socket = dialOnce(address, key, self, deadline);
      if (socket.ok() || socket.status().code() == StatusCode::kNotSupported) return socket;
      cause = std::move(socket).status();
      if (isRefusal(cause)) refusal = cause;
      mayAnswer = mayAnswer || cause.code() == StatusCode::kTimeout;
    }
    // A rank listens at all its addresses: if one refuses, those that this host has no way to are
    // no hope.
    const bool gone = !refusal.ok() && !mayAnswer;
    if (deadline.passed() || (gone && refused.passed())) {
      const Status& why = gone ? refusal : cause;
      return Status(gone ? why.code() : StatusCode::kTimeout,
                    fmt::format("rank {} cannot be reached at {}: {}", peer,
                                listAddresses(addresses), why.message()));
    }
    backoff.pause(deadline);
  }
}

}  // namespace rondo
