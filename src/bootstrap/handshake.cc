#include "src/bootstrap/handshake.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "src/bootstrap/random_bytes.h"
#include "src/net/socket.h"

namespace rondo {

namespace {

static_assert(std::endian::native == std::endian::little, "hellos are little-endian on every host");

// Different, so that neither hello can pass for the other.
constexpr std::uint32_t kClientMagic = 0x43444e52;  // "RNDC"
constexpr std::uint32_t kServerMagic = 0x53444e52;  // "RNDS"

constexpr std::string_view kClientLabel = "rondo handshake, client's proof";
constexpr std::string_view kServerLabel = "rondo handshake, server's proof";

template <class T>
std::span<const std::byte> bytesOf(const T& pod) {
  static_assert(std::is_trivially_copyable_v<T>);
  return std::as_bytes(std::span(&pod, 1));
}

/// Copies `bytes` over `pod` from its byte `offset` on.
template <class T>
void fill(T& pod, std::size_t offset, std::span<const std::byte> bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  RONDO_CHECK(offset + bytes.size() <= sizeof(T));
  std::memcpy(reinterpret_cast<std::byte*>(&pod) + offset, bytes.data(), bytes.size());
}

Status otherVersion(std::uint16_t theirs) {
  return Status::mismatch(
      "the peer speaks version {} of the protocol, this process version {}; use one version of the "
      "library everywhere",
      theirs, kProtocolVersion);
}

}  // namespace

Status Handshake::receive(std::span<const std::byte> bytes) {
  RONDO_CHECK(bytes.size() <= wanted());
  received_.insert(received_.end(), bytes.begin(), bytes.end());
  if (received_.empty() || received_.size() < wanted_) return {};
  wanted_ = 0;
  const std::vector<std::byte> message = std::exchange(received_, {});
  Status status = onMessage(message);
  if (!status.ok()) wanted_ = 0;
  return status;
}

std::vector<std::byte> Handshake::takeOutput() {
  return std::exchange(output_, {});
}

void Handshake::send(std::span<const std::byte> message) {
  output_.insert(output_.end(), message.begin(), message.end());
}

Mac Handshake::proof(std::string_view label) const {
  std::vector<std::byte> transcript;
  for (const std::span<const std::byte> part :
       {std::as_bytes(std::span(label)), bytesOf(clientHello_), bytesOf(serverHello_)}) {
    transcript.insert(transcript.end(), part.begin(), part.end());
  }
  return authenticator_.authenticate(key_, transcript);
}

Status Handshake::verify(std::span<const std::byte> received, std::string_view label) const {
  Mac theirs{};
  fill(theirs, 0, received);
  if (authenticator_.equal(theirs, proof(label))) return {};
  return Status::mismatch(
      "the peer does not know this job's secret; its unique id may be that of another run");
}

ClientHandshake::ClientHandshake(const MessageAuthenticator& authenticator,
                                 const SecretKey& key,
                                 const PeerIdentity& self,
                                 const Nonce& nonce)
    : Handshake(authenticator, key) {
  clientHello() = {.prefix = {.magic = kClientMagic,
                              .version = kProtocolVersion,
                              .detail = static_cast<std::uint16_t>(self.role)},
                   .rank = self.rank,
                   .ranks = self.ranks,
                   .nonce = nonce};
  send(bytesOf(clientHello()));
  expect(sizeof(HelloPrefix));
}

Status ClientHandshake::onMessage(std::span<const std::byte> message) {
  switch (stage_) {
    case Stage::kPrefix:
      return onPrefix(message);
    case Stage::kHello:
      fill(serverHello(), sizeof(HelloPrefix), message);
      send(proof(kClientLabel));
      stage_ = Stage::kProof;
      expect(sizeof(Mac));
      return {};
    case Stage::kProof:
      RONDO_RETURN_IF_ERROR(verify(message, kServerLabel));
      finish();
      return {};
  }
  return Status::internal("unknown stage of a handshake");
}

Status ClientHandshake::onPrefix(std::span<const std::byte> message) {
  fill(serverHello(), 0, message);
  const HelloPrefix& prefix = serverHello().prefix;
  if (prefix.magic != kServerMagic) {
    return Status::mismatch("what answers there is no process of this library");
  }
  if (prefix.version != kProtocolVersion) return otherVersion(prefix.version);
  if (prefix.detail != static_cast<std::uint16_t>(HelloStatus::kWelcome)) {
    return Status::mismatch("the peer turned this process away with status {}", prefix.detail);
  }
  stage_ = Stage::kHello;
  expect(sizeof(ServerHello) - sizeof(HelloPrefix));
  return {};
}

ServerHandshake::ServerHandshake(const MessageAuthenticator& authenticator,
                                 const SecretKey& key,
                                 const Nonce& nonce)
    : Handshake(authenticator, key) {
  serverHello() = {.prefix = {.magic = kServerMagic,
                              .version = kProtocolVersion,
                              .detail = static_cast<std::uint16_t>(HelloStatus::kWelcome)},
                   .nonce = nonce};
  expect(sizeof(HelloPrefix));
}

Status ServerHandshake::onMessage(std::span<const std::byte> message) {
  switch (stage_) {
    case Stage::kPrefix:
      return onPrefix(message);
    case Stage::kHello:
      fill(clientHello(), sizeof(HelloPrefix), message);
      send(bytesOf(serverHello()));
      stage_ = Stage::kProof;
      expect(sizeof(Mac));
      return {};
    case Stage::kProof:
      RONDO_RETURN_IF_ERROR(verify(message, kClientLabel));
      send(proof(kServerLabel));
      finish();
      return {};
  }
  return Status::internal("unknown stage of a handshake");
}

Status ServerHandshake::onPrefix(std::span<const std::byte> message) {
  fill(clientHello(), 0, message);
  const HelloPrefix& prefix = clientHello().prefix;
  if (prefix.magic != kClientMagic) {
    return Status::mismatch("what it says is not this library's protocol");
  }
  if (prefix.version != kProtocolVersion) {
    serverHello().prefix.detail = static_cast<std::uint16_t>(HelloStatus::kOtherVersion);
    send(bytesOf(serverHello()));
    return otherVersion(prefix.version);
  }
  stage_ = Stage::kHello;
  expect(sizeof(ClientHello) - sizeof(HelloPrefix));
  return {};
}

PeerIdentity ServerHandshake::peer() const {
  RONDO_CHECK(done());
  return {.role = static_cast<PeerRole>(clientHello().prefix.detail),
          .rank = clientHello().rank,
          .ranks = clientHello().ranks};
}

Status runHandshake(int socket, Handshake& handshake, Deadline deadline, std::string_view peer) {
  for (;;) {
    RONDO_RETURN_IF_ERROR(sendAll(socket, handshake.takeOutput(), deadline, peer));
    if (handshake.done()) return {};
    std::vector<std::byte> bytes(handshake.wanted());
    RONDO_RETURN_IF_ERROR(recvAll(socket, bytes, deadline, peer));
    if (Status status = handshake.receive(bytes); !status.ok()) {
      (void)sendAll(socket, handshake.takeOutput(), deadline, peer);
      return std::move(status).withContext(peer);
    }
  }
}

Status authenticateAsClient(int socket,
                            const SecretKey& key,
                            const PeerIdentity& self,
                            Deadline deadline,
                            std::string_view peer) {
  const Result<MessageAuthenticator> authenticator = MessageAuthenticator::shared();
  RONDO_RETURN_IF_ERROR(authenticator.status());
  Nonce nonce{};
  RONDO_RETURN_IF_ERROR(fillRandom(nonce));
  ClientHandshake handshake(*authenticator, key, self, nonce);
  Status status =
      runHandshake(socket, handshake, earlier(deadline, Deadline::within(kHandshakeTimeout)), peer);
  if (status.code() != StatusCode::kPeerLost || !handshake.proofSent()) return status;
  return Status::mismatch(
      "{}, when it had this process's proof; the unique id may be that of another run",
      status.message());
}

Result<PeerIdentity> authenticateAsServer(int socket,
                                          const SecretKey& key,
                                          Deadline deadline,
                                          std::string_view peer) {
  const Result<MessageAuthenticator> authenticator = MessageAuthenticator::shared();
  RONDO_RETURN_IF_ERROR(authenticator.status());
  Nonce nonce{};
  RONDO_RETURN_IF_ERROR(fillRandom(nonce));
  ServerHandshake handshake(*authenticator, key, nonce);
  RONDO_RETURN_IF_ERROR(runHandshake(socket, handshake,
                                     earlier(deadline, Deadline::within(kHandshakeTimeout)), peer));
  return handshake.peer();
}

}  // namespace rondo
