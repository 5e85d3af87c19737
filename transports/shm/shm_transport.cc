#include "transports/shm/shm_transport.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include <unistd.h>

namespace rondo::shm {

namespace {

/// For ranks that begin at the same moment to share an arena. Ranks that only look as if they were
/// on one host must not keep the others for long.
constexpr std::chrono::milliseconds kSharingTimeout{15000};

}  // namespace

ShmTransport::ShmTransport(
    int rank, std::string host, SlotShape slots, const SecretKey& key, SlotAccount account)
    : rank_(rank), host_(std::move(host)), slots_(slots), key_(key), account_(std::move(account)) {}

Result<std::string> ShmTransport::offer() {
  Result<ArenaListener> listener = ArenaListener::create();
  RONDO_RETURN_IF_ERROR(listener.status());
  std::string text = fmt::format("{}\n{}\n{}", ::getpid(), listener->address(), host_);
  if (text.size() > kMaxOfferBytes) {
    return Status::notSupported("the host's identity (RONDO_HOST_ID) is too long by {} characters",
                                text.size() - kMaxOfferBytes);
  }
  listener_ = *std::move(listener);
  return text;
}

/// The other direction of offer().
std::optional<ShmTransport::Offer> ShmTransport::parse(std::string_view text) {
  const std::size_t first = text.find('\n');
  const std::size_t second = text.find('\n', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  Offer offer;
  const auto [end, error] = std::from_chars(text.data(), text.data() + first, offer.process);
  if (error != std::errc{} || end != text.data() + first) return std::nullopt;
  offer.socket = text.substr(first + 1, second - first - 1);
  offer.host = text.substr(second + 1);
  return offer;
}

bool ShmTransport::canReach(int /*peer*/, std::string_view offer) const {
  const std::optional<Offer> parsed = parse(offer);
  return parsed && parsed->host == host_;
}

Status ShmTransport::open(const std::vector<std::string>& offers, Deadline deadline) {
  std::vector<ShmGroup::Member> members;
  std::string maker;  // where the arena is handed out: at the first member
  std::size_t own = 0;
  for (int rank = 0; rank < static_cast<int>(offers.size()); ++rank) {
    const std::optional<Offer> offer = parse(offers[static_cast<std::size_t>(rank)]);
    if (!offer) continue;
    if (members.empty()) maker = offer->socket;
    if (rank == rank_) own = members.size();
    members.push_back({rank, offer->process});
  }
  Result<Arena> arena =
      shareArena(own, members.size(), maker, earlier(deadline, Deadline::within(kSharingTimeout)));
  RONDO_RETURN_IF_ERROR(arena.status());
  Result<std::unique_ptr<ShmGroup>> group =
      ShmGroup::join(*std::move(arena), members, own, std::move(account_));
  RONDO_RETURN_IF_ERROR(group.status());
  group_ = *std::move(group);
  return {};
}

Result<Arena> ShmTransport::shareArena(std::size_t own,
                                       std::size_t members,
                                       const std::string& maker,
                                       Deadline deadline) {
  // Closed on return, whatever happens here: those that wait at it then hear that nothing comes.
  const ArenaListener listener = *std::exchange(listener_, std::nullopt);
  const auto count = static_cast<int>(members);
  if (own != 0) return takeArena(maker, static_cast<int>(own), count, key_, deadline);
  Result<Arena> arena = ShmGroup::makeArena(count, slots_.bytes, slots_.count, account_.limit());
  RONDO_RETURN_IF_ERROR(arena.status());
  RONDO_RETURN_IF_ERROR(listener.handOut(*arena, count - 1, count, key_, deadline));
  return arena;
}

Result<ConnectionMemory> ShmTransport::connect(int from, int to, int channel) {
  return group_->connection(from, to, channel);
}

std::size_t ShmTransport::memoryBytes() const {
  return group_ == nullptr ? 0 : group_->usedBytes();
}

std::size_t ShmTransport::hugePageBytes() const {
  return group_ == nullptr ? 0 : group_->hugePageBytes();
}

}  // namespace rondo::shm
