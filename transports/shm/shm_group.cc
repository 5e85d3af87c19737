#include "transports/shm/shm_group.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <new>
#include <string_view>
#include <thread>
#include <utility>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernels/memory_order.h"

namespace rondo::shm {

namespace {

/// Address space per rank for its connections; only what is used is reserved. Enough for all other
/// ranks of a host of 128 on one channel with default slots.
constexpr std::size_t kConnectionSpacePerRank = std::size_t{64} << 20;

/// How long a peer may take to reserve one connection's memory (256 KiB take 1 to 2 ms on a virtual
/// machine that zeroes page by page).
constexpr std::chrono::seconds kMakingTimeout{60};

/// After which it is asked whether the peer still lives: by system calls, so not at once.
constexpr std::chrono::milliseconds kMakingPatience{20};

FileDescriptor watchProcess(pid_t process) {
  return FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
}

}  // namespace

Result<Arena> ShmGroup::makeArena(int ranks,
                                  std::size_t slotBytes,
                                  std::uint32_t slotCount,
                                  std::size_t limit) {
  const ArenaLayout layout{static_cast<std::size_t>(ranks)};
  const std::size_t space =
      std::max({kConnectionSpacePerRank, limit, 4 * connectionBytes({slotBytes, slotCount})});
  Result<Arena> arena = Arena::create(layout.connections() + layout.ranks * space);
  if (!arena.ok()) return arena;
  RONDO_RETURN_IF_ERROR(arena->reserve(0, layout.connections()));
  auto* header = new (arena->data()) ArenaHeader;
  header->ranks = static_cast<std::uint32_t>(ranks);
  header->slotBytes = slotBytes;
  header->slotCount = slotCount;
  header->nextFree = layout.connections();
  for (std::size_t rank = 0; rank < layout.ranks; ++rank) {
    new (arena->data() + layout.records() + rank * sizeof(CallRecord)) CallRecord;
  }
  return arena;
}

Result<std::unique_ptr<ShmGroup>> ShmGroup::join(Arena arena,
                                                 std::span<const Member> members,
                                                 std::size_t own,
                                                 SlotAccount account) {
  const auto* header = reinterpret_cast<const ArenaHeader*>(arena.data());
  const bool readable = arena.bytes() >= ArenaLayout{members.size()}.connections();
  if (!readable || header->magic != kArenaMagic || header->version != kArenaVersion ||
      header->ranks != members.size()) {
    return Status::systemError(
        "shared memory: the arena was not made for {} ranks by this version of the library; all "
        "ranks must use the same one",
        members.size());
  }
  std::vector<Process> watched;
  std::map<int, std::size_t> places;
  for (const Member& member : members) {
    places.emplace(member.rank, watched.size());
    watched.push_back({member.process, watchProcess(member.process)});
  }
  return std::unique_ptr<ShmGroup>(new ShmGroup(std::move(arena), std::move(watched),
                                                std::move(places), members[own].rank,
                                                std::move(account)));
}

ShmGroup::ShmGroup(Arena arena,
                   std::vector<Process> processes,
                   std::map<int, std::size_t> places,
                   int ownRank,
                   SlotAccount account)
    : arena_(std::move(arena)),
      processes_(std::move(processes)),
      places_(std::move(places)),
      ownRank_(ownRank),
      account_(std::move(account)),
      place_(bell(placeOf(ownRank))),
      offers_(offerPlaces()) {}

MemoryOffers::Places ShmGroup::offerPlaces() const {
  MemoryOffers::Places places;
  places.own = placeOf(ownRank_);
  const std::size_t ranks = layout().ranks;
  const auto answers = [&](std::size_t from, std::size_t to) {
    return at<Answers>(layout().answers() + (from * ranks + to) * sizeof(Answers));
  };
  for (std::size_t place = 0; place < ranks; ++place) {
    places.inboxes.push_back(at<Inbox>(layout().inboxes() + place * sizeof(Inbox)));
    places.toOwn.push_back(answers(place, places.own));
    places.fromOwn.push_back(answers(places.own, place));
  }
  return places;
}

CallRecord& ShmGroup::record(int rank) {
  return *at<CallRecord>(layout().records() + placeOf(rank) * sizeof(CallRecord));
}

std::optional<MailboxMemory> ShmGroup::mailbox(int rank) {
  const std::size_t place = placeOf(rank);
  return MailboxMemory{at<Mailbox>(layout().mailboxes() + place * sizeof(Mailbox)), &bell(place)};
}

std::string ShmGroup::whyLost(int rank) const {
  const Process& process = processes_[placeOf(rank)];
  pollfd watched{process.handle.get(), POLLIN, 0};
  const bool ended = process.handle.valid() ? ::poll(&watched, 1, 0) == 1
                                            : ::kill(process.id, 0) != 0 && errno == ESRCH;
  return ended ? "its process has ended" : "";
}

std::size_t ShmGroup::usedBytes() const {
  return static_cast<std::size_t>(host::observeCounter(header().nextFree));
}

Result<ConnectionMemory> ShmGroup::connection(int from, int to, int channel) {
  const std::size_t sender = placeOf(from);
  const std::size_t receiver = placeOf(to);
  std::uint64_t& word = *at<std::uint64_t>(
      layout().directoryWord(static_cast<int>(sender), static_cast<int>(receiver), channel));
  if (host::claimWord(word, kNotMade, kBeingMade)) {
    const Result<std::uint64_t> made = makeConnection();
    host::postCounter(word, made.ok() ? *made : kNoMemory);
    RONDO_RETURN_IF_ERROR(made.status());
  } else {
    RONDO_RETURN_IF_ERROR(awaitConnection(word, from == ownRank_ ? to : from));
  }
  const std::uint64_t made = host::observeCounter(word);
  const std::uint64_t offset = offsetOf(made);
  return ConnectionMemory{.control = at<ConnectionControl>(offset),
                          .slots = arena_.data() + offset + wholePages(sizeof(ConnectionControl)),
                          .slotBytes = static_cast<std::size_t>(header().slotBytes),
                          .slotCount = slotsOf(made),
                          .stores = host::StorePolicy::kMeasured,
                          .senderBell = &bell(sender),
                          .receiverBell = &bell(receiver),
                          .names = &offers_.names(from == ownRank_ ? receiver : sender, channel)};
}

Result<std::uint64_t> ShmGroup::makeConnection() {
  const SlotShape full{static_cast<std::size_t>(header().slotBytes),
                       static_cast<std::uint32_t>(header().slotCount)};
  // The second half of the arena's address space is for connections that make do with the fewest.
  const bool inFirstHalf = usedBytes() < arena_.bytes() / 2;
  Result<SlotShape> slots = account_.take(inFirstHalf ? full : withFewestSlots(full));
  if (!slots.ok()) return std::move(slots).status().withContext("shared memory");
  const std::uint64_t offset = host::takeFrom(header().nextFree, connectionBytes(*slots));
  Status reserved = reserveConnection(offset, *slots);
  if (!reserved.ok() && slots->count > kFewestSlots) {
    account_.giveBack(*slots);
    slots = account_.take(withFewestSlots(*slots));
    if (slots.ok()) reserved = reserveConnection(offset, *slots);
  }
  if (reserved.ok()) return offset + slots->count;
  if (slots.ok()) account_.giveBack(*slots);
  return reserved;
}

Status ShmGroup::reserveConnection(std::uint64_t offset, SlotShape slots) {
  const std::size_t bytes = connectionBytes(slots);
  if (offset + bytes <= arena_.bytes()) return arena_.reserve(offset, bytes);
  return Status::outOfMemory(
      "shared memory: {} more bytes wanted for a connection, but the arena of {} bytes is full; "
      "make slots fewer or smaller (RONDO_SLOTS_PER_CONNECTION, RONDO_CHUNK_BYTES)",
      bytes, arena_.bytes());
}

Status ShmGroup::awaitConnection(std::uint64_t& word, int peer) const {
  const auto begin = std::chrono::steady_clock::now();
  while (host::observeCounter(word) == kBeingMade) {
    if (Status ended = header().failure.read(); !ended.ok()) return ended;
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (waited > kMakingTimeout) {
      return Status::timeout("shared memory: rank {} has been making a connection for {} s", peer,
                             kMakingTimeout.count());
    }
    // In this order: what it made before it ended is there.
    const bool ended = waited > kMakingPatience && !whyLost(peer).empty();
    if (ended && host::observeCounter(word) == kBeingMade) {
      return Status::peerLost("shared memory: rank {} was making a connection, but {}", peer,
                              whyLost(peer));
    }
    std::this_thread::yield();
  }
  if (host::observeCounter(word) != kNoMemory) return {};
  return Status::outOfMemory(
      "shared memory: rank {} has no room for the {} bytes of a connection of {} slots: neither "
      "its host's memory nor its own RONDO_SLOT_MEMORY_BYTES may be used up",
      peer, connectionBytes({static_cast<std::size_t>(header().slotBytes), kFewestSlots}),
      kFewestSlots);
}

void ShmGroup::fail(const Status& failure) {
  header().failure.raise(failure);
  for (std::size_t place = 0; place < processes_.size(); ++place)
    bell(place).ring();
}

}  // namespace rondo::shm
