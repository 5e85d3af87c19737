// How two processes that share a secret convince each other of it, before anything else that either
// says is looked at.
//
//     client                                                              server
//       | ClientHello: version, role, rank, ranks, nonce                    |
//       |------------------------------------------------------------------>|
//       |                           ServerHello: version, status, nonce     |
//       |<------------------------------------------------------------------|
//       | proof = MAC(key, "client" | both hellos)                          |
//       |------------------------------------------------------------------>|
//       |                     proof = MAC(key, "server" | both hellos)      |
//       |<------------------------------------------------------------------|
//
// Each side's nonce makes old proofs worthless, the labels make one side's proof worthless as the
// other's, and since both hellos are under the MAC none of their bits can be changed. The client
// proves itself first: a stranger gets nothing out of a server but a hello. The pattern is that of
// challenge and response with mutual authentication (ISO/IEC 9798-4, three passes, plus hellos).
// It authenticates the ends of a connection; it does not encrypt what is said afterwards.
//
// The two sides are state machines that see only bytes, so that tests and fuzzers can drive them;
// the functions at the end run them over a socket.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "src/bootstrap/message_authentication.h"
#include "src/bootstrap/secret_key.h"
#include "src/net/deadline.h"
#include "src/status.h"

namespace rondo {

/// What a connection is for; under the proof, so that none can be led to another service.
enum class PeerRole : std::uint16_t {
  kRendezvous = 1,    ///< joins a rendezvous, for any number of rounds
  kSharedMemory = 2,  ///< passes memory of this host over a Unix socket
  kData = 3,          ///< carries data between ranks
  kControl = 4,       ///< carries heartbeats and news of failures
  kProbe = 5,         ///< asks whether the rendezvous of its job is here, and goes
};

/// Who connects, as it says; to be believed once the handshake is done.
struct PeerIdentity {
  PeerRole role = PeerRole::kRendezvous;
  int rank = 0;
  int ranks = 0;

  friend bool operator==(const PeerIdentity&, const PeerIdentity&) = default;
};

using Nonce = std::array<std::byte, 32>;

/// Raised whenever the handshake, or anything that may follow it, changes.
inline constexpr std::uint16_t kProtocolVersion = 2;

/// For a whole handshake, so that silent strangers do not pile up. Long for a loaded host.
inline constexpr std::chrono::milliseconds kHandshakeTimeout{2000};

/// The start of both hellos, the same in all versions to come.
struct HelloPrefix {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t detail;  ///< client: PeerRole; server: HelloStatus
};

/// Whether the server goes on.
enum class HelloStatus : std::uint16_t { kWelcome = 0, kOtherVersion = 1 };

/// Little-endian: 0 magic | 4 version | 6 role | 8 rank | 12 ranks | 16 nonce (32).
struct ClientHello {
  HelloPrefix prefix;
  std::int32_t rank;
  std::int32_t ranks;
  Nonce nonce;
};

/// Little-endian: 0 magic | 4 version | 6 status | 8 nonce (32).
struct ServerHello {
  HelloPrefix prefix;
  Nonce nonce;
};

static_assert(sizeof(HelloPrefix) == 8 && offsetof(HelloPrefix, version) == 4 &&
              offsetof(HelloPrefix, detail) == 6);
static_assert(sizeof(ClientHello) == 48 && offsetof(ClientHello, rank) == 8 &&
              offsetof(ClientHello, ranks) == 12 && offsetof(ClientHello, nonce) == 16);
static_assert(sizeof(ServerHello) == 40 && offsetof(ServerHello, nonce) == 8);
static_assert(std::is_trivially_copyable_v<ClientHello> &&
              std::is_trivially_copyable_v<ServerHello>);

/// What both sides have in common: bytes in, bytes out.
/// @threads one at a time.
class Handshake {
 public:
  Handshake(const Handshake&) = delete;
  Handshake& operator=(const Handshake&) = delete;
  Handshake(Handshake&&) = delete;
  Handshake& operator=(Handshake&&) = delete;
  virtual ~Handshake() = default;

  /// How many more bytes of the peer this side can use; bytes beyond them belong to what follows.
  /// 0: none, it is done or has failed.
  std::size_t wanted() const { return wanted_ - received_.size(); }

  /// Takes at most wanted() bytes of the peer, in pieces of any size.
  /// @errors   Mismatch: another version (the message names both), or no peer of this job. Final:
  ///   nothing more is wanted. What takeOutput() then has may still be sent.
  Status receive(std::span<const std::byte> bytes);

  /// What is to be sent to the peer now; empty: nothing. Each byte is given once.
  std::vector<std::byte> takeOutput();

  /// Whether the peer has proved itself and this side has said all it has to say.
  bool done() const { return done_; }

 protected:
  Handshake(const MessageAuthenticator& authenticator, const SecretKey& key)
      : authenticator_(authenticator), key_(key) {}

  /// Called with each message that was expected, whole.
  virtual Status onMessage(std::span<const std::byte> message) = 0;

  void expect(std::size_t bytes) { wanted_ = bytes; }

  void finish() { done_ = true; }

  /// Queues the bytes of `message` for the peer.
  void send(std::span<const std::byte> message);

  Mac proof(std::string_view label) const;

  /// Checks the peer's proof.
  /// @errors   Mismatch.
  Status verify(std::span<const std::byte> received, std::string_view label) const;

  /// What the client has said, or will; as far as it is known yet.
  ClientHello& clientHello() { return clientHello_; }

  const ClientHello& clientHello() const { return clientHello_; }

  /// What the server has said, or will; as far as it is known yet.
  ServerHello& serverHello() { return serverHello_; }

 private:
  ClientHello clientHello_{};
  ServerHello serverHello_{};
  const MessageAuthenticator authenticator_;
  const SecretKey key_;
  std::size_t wanted_ = 0;
  std::vector<std::byte> received_;  ///< the part of the expected message that has come
  std::vector<std::byte> output_;
  bool done_ = false;
};

/// The side that connects.
class ClientHandshake final : public Handshake {
 public:
  /// @param nonce new random bytes.
  ClientHandshake(const MessageAuthenticator& authenticator,
                  const SecretKey& key,
                  const PeerIdentity& self,
                  const Nonce& nonce);

  /// Whether the server has what it needs to believe this side.
  bool proofSent() const { return stage_ == Stage::kProof; }

 private:
  enum class Stage { kPrefix, kHello, kProof };

  Status onMessage(std::span<const std::byte> message) override;
  Status onPrefix(std::span<const std::byte> message);

  Stage stage_ = Stage::kPrefix;
};

/// The side that was connected to.
class ServerHandshake final : public Handshake {
 public:
  /// @param nonce new random bytes.
  ServerHandshake(const MessageAuthenticator& authenticator,
                  const SecretKey& key,
                  const Nonce& nonce);

  /// Who the peer is. Precondition: done().
  PeerIdentity peer() const;

 private:
  enum class Stage { kPrefix, kHello, kProof };

  Status onMessage(std::span<const std::byte> message) override;
  Status onPrefix(std::span<const std::byte> message);

  Stage stage_ = Stage::kPrefix;
};

/// Runs a handshake over `socket`, a connected stream socket of any kind, blocking or not. Reads
/// nothing beyond it.
/// @param peer   names the other side in errors.
/// @errors   those of Handshake::receive(), Timeout, PeerLost (the connection ended).
Status runHandshake(int socket, Handshake& handshake, Deadline deadline, std::string_view peer);

/// Convinces the server at the other end of `socket` of `self`, and is convinced of it.
/// @param deadline kHandshakeTimeout from now at the latest.
/// @errors   those of runHandshake(), but Mismatch if the server goes when it has the proof;
///   NotSupported (no libsodium), SystemError (no randomness).
Status authenticateAsClient(int socket,
                            const SecretKey& key,
                            const PeerIdentity& self,
                            Deadline deadline,
                            std::string_view peer = "the peer");

/// The other end of authenticateAsClient().
/// @return who the client is. Whether it is welcome in that role is the caller's to judge.
/// @errors   as there.
Result<PeerIdentity> authenticateAsServer(int socket,
                                          const SecretKey& key,
                                          Deadline deadline,
                                          std::string_view peer = "the peer");

}  // namespace rondo
