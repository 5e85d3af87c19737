// What ranks tell each other when they meet: who they are, how opening went, offers and addresses.
// The first byte of an input chooses which.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/net/socket_address.h"
#include "src/rank_info.h"
#include "transports/shm/shm_transport.h"

namespace rondo {
namespace {

constexpr std::size_t kTransports = 2;

/// What was understood must be understood again, and alike.
void readInfo(std::string_view text) {
  const Result<RankInfo> info = decodeRankInfo(1, text);
  RONDO_CHECK(info.ok() || info.status().code() == StatusCode::kMismatch);
  if (!info.ok()) return;
  const std::string again = encodeRankInfo(*info);
  const Result<RankInfo> same = decodeRankInfo(1, again);
  RONDO_CHECK(same.ok() && encodeRankInfo(*same) == again);
  const RankInfo infos[] = {*info, *same};
  RONDO_CHECK(checkAgreement(infos).ok() && sharedProcessors(infos) >= 1);
}

void readTexts(std::string_view text) {
  const auto texts = decodeTexts(1, text, kTransports);
  RONDO_CHECK(texts.ok() || texts.status().code() == StatusCode::kMismatch);
  if (!texts.ok()) return;
  const auto same = decodeTexts(1, encodeTexts(*texts), kTransports);
  RONDO_CHECK(same.ok() && *same == *texts && texts->size() == kTransports);
}

void readShmOffer(std::string_view text) {
  static const SecretKey key(std::array<std::byte, SecretKey::kBytes>{});
  static const shm::ShmTransport transport(0, "host", {64, 2}, key);
  if (transport.canReach(1, text)) RONDO_CHECK(text.ends_with("\nhost"));
}

void readAddress(std::string_view text) {
  const Result<SocketAddress> address = SocketAddress::parse(text);
  if (!address.ok()) return;
  const Result<SocketAddress> same = SocketAddress::parse(address->text());
  // The interface of a link-local address is of no meaning to others, so its text has none.
  RONDO_CHECK(same.ok() && same->text() == address->text());
}

void attack(std::string_view input) {
  if (input.empty()) return;
  const auto which = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  switch (which % 4) {
    case 0:
      return readInfo(input);
    case 1:
      return readTexts(input);
    case 2:
      return readShmOffer(input);
    default:
      return readAddress(input);
  }
}

}  // namespace
}  // namespace rondo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rondo::attack({reinterpret_cast<const char*>(data), size});
  return 0;
}
