// Both sides of the handshake against hostile bytes. The first byte of an input chooses the side,
// the second how long the pieces are in which the rest arrives.
//
// Nobody guesses a MAC, so a side that believes the other is a find.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "src/bootstrap/handshake.h"

namespace rondo {
namespace {

/// Gives `bytes` to `side` in pieces, until it has what it wants or has seen enough.
void attack(Handshake& side, std::span<const std::byte> bytes, std::size_t pieceBytes) {
  (void)side.takeOutput();
  while (!bytes.empty() && side.wanted() > 0) {
    const std::size_t piece = std::min({bytes.size(), side.wanted(), pieceBytes});
    const Status status = side.receive(bytes.first(piece));
    (void)side.takeOutput();
    RONDO_CHECK(status.ok() || side.wanted() == 0);
    bytes = bytes.subspan(piece);
  }
  RONDO_CHECK(!side.done());
}

void attackEither(std::span<const std::byte> input) {
  static const Result<MessageAuthenticator> authenticator = MessageAuthenticator::shared();
  if (!authenticator.ok() || input.size() < 2) return;
  const SecretKey key(Nonce{std::byte{1}});
  const Nonce nonce{std::byte{2}};
  const std::size_t pieceBytes = std::to_integer<std::size_t>(input[1]) + 1;
  if (input[0] == std::byte{0}) {
    ServerHandshake server(*authenticator, key, nonce);
    attack(server, input.subspan(2), pieceBytes);
  } else {
    ClientHandshake client(*authenticator, key, {PeerRole::kData, 1, 2}, nonce);
    attack(client, input.subspan(2), pieceBytes);
  }
}

}  // namespace
}  // namespace rondo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rondo::attackEither(std::as_bytes(std::span(data, size)));
  return 0;
}
