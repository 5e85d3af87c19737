#include "transports/shm/memory_offers.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include <sys/socket.h>

#include "kernels/memory_order.h"
#include "src/bootstrap/random_bytes.h"
#include "src/log.h"
#include "src/net/errno_text.h"
#include "transports/allocation_table.h"
#include "transports/shm/unix_messages.h"

namespace rondo::shm {

namespace {

/// What a datagram holds besides a descriptor.
struct Offer {
  std::uint64_t token = 0;
  std::uint64_t from = 0;
  std::uint64_t drawer = 0;
  std::uint64_t block = 0;
};

}  // namespace

/// Another rank: what this one has offered to it, and what it has mapped of it. Workers of this
/// rank may offer at the same time.
class MemoryOffers::Peer {
 public:
  Peer(std::size_t own, Inbox& inbox, Answers& answers)
      : own_(own), inbox_(inbox), answers_(answers) {}

  /// The drawer that has the block, or one that is offered it now; none where all are taken.
  std::optional<std::size_t> drawerFor(std::uint64_t block);

  /// Whether the peer has mapped the block that lies in the drawer.
  bool hasMapped(std::size_t drawer, std::uint64_t block) const {
    return host::observeCounter(answers_.blocks[drawer]) == block;
  }

  /// Where what the peer has named lies here.
  const std::byte* find(const SlotPlace& place) const {
    return mapped_[place.region]->data() + place.offset;
  }

  /// What connections with it on `channel` use.
  MemoryNames& namesOn(int channel);

  /// Maps a block of the peer's in place of what the drawer held.
  /// @return whether that went well
  bool map(std::size_t drawer, FileDescriptor file) {
    mapped_[drawer].reset();
    if (!file.valid()) return false;
    Result<Arena> arena = Arena::map(std::move(file));
    if (!arena.ok() || !arena->reserve(0, arena->bytes()).ok()) return false;
    mapped_[drawer] = *std::move(arena);
    return true;
  }

 private:
  struct Drawer {
    std::uint64_t block = 0;  ///< 0: none
  };

  bool send(std::size_t drawer, std::uint64_t block);

  std::size_t own_;
  Inbox& inbox_;
  Answers& answers_;
  std::mutex mutex_;  // guards the next two
  FileDescriptor socket_;
  std::array<Drawer, kDrawers> drawers_{};               // of this rank's blocks
  std::array<std::optional<Arena>, kDrawers> mapped_{};  // of the peer's
  std::map<int, std::unique_ptr<Names>> names_;          // by channel
};

/// Of the connections with a peer on one channel: what need not be looked up again.
/// @threads one at a time
class MemoryOffers::Names final : public MemoryNames {
 public:
  explicit Names(Peer& peer) : peer_(peer) {}

  std::optional<SlotPlace> nameOf(const std::byte* data, std::size_t bytes) override {
    if (!holds(data, bytes) && !lookUp(data, bytes)) return std::nullopt;
    if (!peer_.hasMapped(last_.drawer, last_.block)) return std::nullopt;
    return SlotPlace{last_.drawer, static_cast<std::size_t>(data - last_.begin)};
  }

  const std::byte* find(const SlotPlace& place) override { return peer_.find(place); }

 private:
  /// The block that was looked up last.
  struct Last {
    std::uint64_t changes = 0;  ///< of the table, then
    const std::byte* begin = nullptr;
    std::size_t bytes = 0;
    std::size_t drawer = 0;
    std::uint64_t block = 0;
  };

  bool holds(const std::byte* data, std::size_t bytes) const {
    if (last_.changes != AllocationTable::ofProcess().changes()) return false;
    const auto offset = static_cast<std::size_t>(data - last_.begin);
    return data >= last_.begin && offset <= last_.bytes && bytes <= last_.bytes - offset;
  }

  bool lookUp(const std::byte* data, std::size_t bytes);

  Peer& peer_;
  Last last_;
};

bool MemoryOffers::Names::lookUp(const std::byte* data, std::size_t bytes) {
  AllocationTable& allocations = AllocationTable::ofProcess();
  const std::uint64_t changes = allocations.changes();  // first: what is freed meanwhile shows
  const std::optional<PlaceInBlock> place = allocations.find(data, bytes);
  if (!place) return false;
  const std::optional<std::size_t> drawer = peer_.drawerFor(place->block);
  if (!drawer) return false;
  last_ = {changes, data - place->offset, place->blockBytes, *drawer, place->block};
  return true;
}

MemoryNames& MemoryOffers::Peer::namesOn(int channel) {
  std::unique_ptr<Names>& names = names_[channel];
  if (names == nullptr) names = std::make_unique<Names>(*this);
  return *names;
}

std::optional<std::size_t> MemoryOffers::Peer::drawerFor(std::uint64_t block) {
  const std::scoped_lock lock(mutex_);
  const auto placeOf = [&](auto found) {
    return static_cast<std::size_t>(found - drawers_.begin());
  };
  const auto same = std::ranges::find(drawers_, block, &Drawer::block);
  if (same != drawers_.end()) return placeOf(same);
  const auto empty = std::ranges::find_if(drawers_, [](const Drawer& drawer) {
    return drawer.block == 0 || !AllocationTable::ofProcess().holds(drawer.block);
  });
  if (empty == drawers_.end() || !send(placeOf(empty), block)) return std::nullopt;
  empty->block = block;
  return placeOf(empty);
}

bool MemoryOffers::Peer::send(std::size_t drawer, std::uint64_t block) {
  if (host::observeCounter(inbox_.open) == 0) return false;
  const FileDescriptor file(AllocationTable::ofProcess().duplicateFile(block));
  if (!file.valid()) return false;
  if (!socket_.valid()) socket_ = unixSocket(SOCK_DGRAM, SOCK_NONBLOCK);
  Offer offer{inbox_.token, own_, drawer, block};
  const UnixAddress address(inbox_.name);
  if (!sendWithDescriptor(socket_.get(), std::as_writable_bytes(std::span(&offer, 1)), file.get(),
                          &address)) {
    return false;  // its queue is full, or it is gone: the payload is copied
  }
  host::takeFrom(inbox_.sent, 1);
  return true;
}

MemoryOffers::MemoryOffers(Places places) : places_(std::move(places)) {
  for (std::size_t place = 0; place < places_.inboxes.size(); ++place) {
    peers_.push_back(
        std::make_unique<Peer>(places_.own, *places_.inboxes[place], *places_.toOwn[place]));
  }
  const Status opened = openInbox();
  if (!opened.ok()) {
    RONDO_LOG(kInfo, kTransport, "memory of rondoMemAlloc of other ranks is not mapped here: {}",
              opened.message());
  }
}

MemoryOffers::~MemoryOffers() = default;

MemoryNames& MemoryOffers::names(std::size_t place, int channel) {
  return peers_[place]->namesOn(channel);
}

Status MemoryOffers::openInbox() {
  Inbox& inbox = *places_.inboxes[places_.own];
  Result<std::string> name = randomSocketName();
  RONDO_RETURN_IF_ERROR(name.status());
  RONDO_RETURN_IF_ERROR(fillRandom(std::as_writable_bytes(std::span(&inbox.token, 1))));
  socket_ = unixSocket(SOCK_DGRAM, SOCK_NONBLOCK);
  const UnixAddress address(*name);
  if (!socket_.valid() || ::bind(socket_.get(), address.get(), address.length) != 0) {
    const int error = errno;
    return Status::systemError("a Unix socket cannot be had: {}", errnoText(error));
  }
  static_assert(sizeof inbox.name > 6 + 2 * 16);
  name->copy(inbox.name, sizeof inbox.name - 1);
  host::postCounter(inbox.open, 1);
  return {};
}

void MemoryOffers::look() {
  const std::uint64_t sent = host::observeCounter(places_.inboxes[places_.own]->sent);
  if (sent == seen_) return;
  seen_ = sent;
  while (takeOffer()) {
  }
}

/// @return false: nothing is there
bool MemoryOffers::takeOffer() {
  Offer offer;
  FileDescriptor file;
  const auto bytes = std::as_writable_bytes(std::span(&offer, 1));
  const ssize_t received = receiveWithDescriptor(socket_.get(), bytes, file);
  if (received < 0) return false;
  const bool sound = static_cast<std::size_t>(received) == sizeof offer &&
                     offer.token == places_.inboxes[places_.own]->token &&
                     offer.from < peers_.size() && offer.drawer < kDrawers;
  if (!sound) return true;  // a stranger's
  Answers& answers = *places_.fromOwn[offer.from];
  const bool mapped = peers_[offer.from]->map(offer.drawer, std::move(file));
  host::postCounter(answers.blocks[offer.drawer],
                    mapped ? offer.block : offer.block | Answers::kRefused);
  return true;
}

}  // namespace rondo::shm
