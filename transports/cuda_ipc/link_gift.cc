#include "transports/cuda_ipc/link_gift.h"

#include <algorithm>
#include <cstring>

namespace rondo::cuda {

namespace {

constexpr std::size_t kPoolBytes = sizeof(LinkGift::pools);

/// A gift as bytes that are as many for all ranks: `parts` parts follow the names of the pools.
std::vector<std::byte> pack(const LinkGift& gift, std::size_t parts) {
  std::vector<std::byte> bytes(kPoolBytes + parts * sizeof(LinkPart));
  std::memcpy(bytes.data(), gift.pools.data(), kPoolBytes);
  std::ranges::copy(std::as_bytes(std::span(gift.parts)), bytes.begin() + kPoolBytes);
  return bytes;
}

LinkGift unpack(std::span<const std::byte> bytes, std::size_t parts) {
  LinkGift gift;
  gift.parts.resize(parts);
  std::memcpy(gift.pools.data(), bytes.data(), kPoolBytes);
  std::ranges::copy(bytes.subspan(kPoolBytes, parts * sizeof(LinkPart)),
                    std::as_writable_bytes(std::span(gift.parts)).begin());
  return gift;
}

}  // namespace

const LinkPart* LinkGift::find(int from, int to, int channel) const {
  const auto place = std::ranges::find_if(parts, [=](const LinkPart& part) {
    return part.from == from && part.to == to && part.channel == channel;
  });
  return place == parts.end() ? nullptr : &*place;
}

Result<std::vector<LinkGift>> exchangeGifts(const LinkGift& own,
                                            int ranks,
                                            const GatherBytes& gather) {
  const std::uint64_t count = own.parts.size();
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(ranks));
  RONDO_RETURN_IF_ERROR(
      gather(std::as_bytes(std::span(&count, 1)), std::as_writable_bytes(std::span(counts))));
  const auto most = static_cast<std::size_t>(std::ranges::max(counts));
  std::vector<LinkGift> gifts;
  if (most == 0) return gifts;
  const std::vector<std::byte> packed = pack(own, most);
  std::vector<std::byte> all(packed.size() * counts.size());
  RONDO_RETURN_IF_ERROR(gather(packed, all));
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    const std::span block = std::span(all).subspan(rank * packed.size(), packed.size());
    gifts.push_back(unpack(block, static_cast<std::size_t>(counts[rank])));
  }
  return gifts;
}

}  // namespace rondo::cuda
