#include "transports/cuda_ipc/device_links.h"

#include <algorithm>
#include <array>
#include <utility>

#include "src/bootstrap/roster.h"
#include "transports/pages.h"

namespace rondo::cuda {

namespace {

/// What parts of a connection, and the parts of these, start at multiples of: the largest access of
/// a kernel.
constexpr std::size_t kAlignment = device::kWideLineBytes;

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// The receiver's part: where in it what lies.
struct ReceiverPart {
  ReceiverPart(SlotShape shape, int channel)
      : entries(aligned(sizeof(CounterLine))),
        slots(aligned(entries + kMaxSlots * sizeof(SlotEntry))),
        lines(aligned(slots + shape.bytes * shape.count)),
        bytes(aligned(lines + lineBytes(shape, channel))) {}

  /// Messages go in slots only.
  static std::size_t lineBytes(SlotShape shape, int channel) {
    if (channel == kDeviceMessageChannel) return 0;
    return device::End::linesPerSlot(shape.bytes) * shape.count * sizeof(device::Pack);
  }

  std::size_t entries;
  std::size_t slots;
  std::size_t lines;
  std::size_t bytes;
};

device::End endOf(std::byte* received, std::byte* credits, SlotShape slots, const EndName& name) {
  const ReceiverPart layout(slots, name.channel);
  device::End end;
  end.tail = reinterpret_cast<std::uint64_t*>(received);
  end.head = reinterpret_cast<std::uint64_t*>(credits);
  end.entries = reinterpret_cast<SlotEntry*>(received + layout.entries);
  end.slots = received + layout.slots;
  if (layout.bytes > layout.lines)
    end.lines = reinterpret_cast<device::Pack*>(received + layout.lines);
  end.slotBytes = static_cast<std::uint32_t>(slots.bytes);
  end.slotCount = slots.count;
  end.peer = name.peer;
  return end;
}

/// What of `gift` is for `peer`: nothing where a wire leads there.
PairGift pairGift(const LinkGift& gift, int peer) {
  PairGift part;
  part.pools = gift.pools;
  std::size_t found = 0;
  for (const LinkPart& one : gift.parts) {
    if (one.from == peer || one.to == peer) part.parts.at(found++) = one;
  }
  return part;
}

/// The ends of the connections for messages with `peer`.
std::array<EndName, 2> messageEnds(int peer) {
  return {EndName{peer, kDeviceMessageChannel, true}, EndName{peer, kDeviceMessageChannel, false}};
}

}  // namespace

/// What others have given, opened as it is needed.
class DeviceLinks::Opened {
 public:
  Opened(DeviceLinks& links, std::vector<LinkGift> gifts)
      : links_(links), gifts_(std::move(gifts)), memory_(gifts_.size()) {}

  /// The part of rank `giver`.
  Result<std::byte*> part(int giver, int from, int to, int channel) {
    const auto place = static_cast<std::size_t>(giver);
    const LinkPart* part = place < gifts_.size() ? gifts_[place].find(from, to, channel) : nullptr;
    if (part == nullptr) {
      return Status::mismatch(
          "rank {} has no end of the connection from rank {} to rank {} on channel {}: it has "
          "planned the operation differently",
          giver, from, to, channel);
    }
    const auto pool = static_cast<std::size_t>(part->pool) % kPools;
    SharedMemory& memory = memory_[place][pool];
    if (memory == nullptr) {
      Result<SharedMemory> opened =
          openMemory(gifts_[place].pools[pool], *links_.self_.device, links_.host_);
      if (!opened.ok())
        return std::move(opened).status().withContext(fmt::format("memory of rank {}", giver));
      memory = *std::move(opened);
      links_.opened_.push_back(memory);
    }
    return memory->onDevice<std::byte>() + part->offset;
  }

 private:
  DeviceLinks& links_;
  std::vector<LinkGift> gifts_;                           // by rank
  std::vector<std::array<SharedMemory, kPools>> memory_;  // by rank
};

DeviceLinks::DeviceLinks(DeviceRank self, std::shared_ptr<RankGroup> group, SlotShape slots)
    : self_(std::move(self)),
      host_(hashOfHost(self_.hostIdentity)),
      group_(std::move(group)),
      slots_(slots) {}

Status DeviceLinks::meet(const GatherBytes& gather) {
  Result<DeviceWays> ways = DeviceWays::findOut(self_, gather);
  RONDO_RETURN_IF_ERROR(ways.status());
  ways_ = *std::move(ways);
  return {};
}

std::string DeviceLinks::describe() const {
  std::vector<int> direct;
  for (int peer = 0; peer < self_.ranks; ++peer) {
    if (peer != self_.rank && !overWire(peer)) direct.push_back(peer);
  }
  return direct.empty() ? "kernels reach all ranks by transports"
                        : fmt::format("kernels reach ranks {} directly", listRanks(direct));
}

Status DeviceLinks::connect(std::span<const EndName> wanted, const GatherBytes& gather) {
  std::vector<EndName> fresh;
  for (const EndName& name : wanted) {
    if (ends_.contains(name)) continue;
    if (overWire(name.peer)) {
      RONDO_RETURN_IF_ERROR(connectOverWire(name));
    } else {
      fresh.push_back(name);
    }
  }
  const Result<Given> own = give(fresh);
  RONDO_RETURN_IF_ERROR(own.status());
  Result<std::vector<LinkGift>> gifts = exchangeGifts(own->gift, self_.ranks, gather);
  RONDO_RETURN_IF_ERROR(gifts.status());
  Opened others(*this, *std::move(gifts));
  for (const EndName& name : fresh)
    RONDO_RETURN_IF_ERROR(link(name, *own, others));
  return {};
}

Status DeviceLinks::connectMessages(std::span<const int> peers, const SwapBytes& swap) {
  std::vector<EndName> fresh;
  for (const int peer : peers) {
    for (const EndName& end : messageEnds(peer)) {
      if (overWire(peer)) {
        RONDO_RETURN_IF_ERROR(connectOverWire(end));
      } else {
        fresh.push_back(end);
      }
    }
  }
  const Result<Given> given = give(fresh);
  RONDO_RETURN_IF_ERROR(given.status());
  std::vector<PairGift> own(peers.size());
  for (std::size_t place = 0; place < peers.size(); ++place)
    own[place] = pairGift(given->gift, peers[place]);
  // Of wires, too: when it returns both ends are there.
  std::vector<PairGift> theirs(peers.size());
  RONDO_RETURN_IF_ERROR(
      swap(peers, std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(theirs))));
  std::vector<LinkGift> gifts(static_cast<std::size_t>(self_.ranks));
  for (std::size_t place = 0; place < peers.size(); ++place) {
    LinkGift& gift = gifts[static_cast<std::size_t>(peers[place])];
    gift.pools = theirs[place].pools;
    gift.parts.assign(theirs[place].parts.begin(), theirs[place].parts.end());
  }
  Opened others(*this, std::move(gifts));
  for (const EndName& end : fresh)
    RONDO_RETURN_IF_ERROR(link(end, *given, others));
  return {};
}

/// This rank's parts of the connections, in memory that is allocated here.
Result<DeviceLinks::Given> DeviceLinks::give(std::span<const EndName> fresh) {
  Given given;
  std::array<std::size_t, kPools> bytes{};
  for (const EndName& name : fresh) {
    LinkPart part;
    part.from = name.sends ? self_.rank : name.peer;
    part.to = name.sends ? name.peer : self_.rank;
    part.channel = name.channel;
    const bool direct = wayTo(name.peer) == Way::kDirect;
    part.pool = direct ? Pool::kOnDevice : Pool::kPinned;
    std::size_t& end = bytes[static_cast<std::size_t>(part.pool)];
    part.offset = end;
    end += name.sends ? aligned(sizeof(CounterLine)) : ReceiverPart(slots_, name.channel).bytes;
    given.gift.parts.push_back(part);
  }
  for (const Pool pool : {Pool::kOnDevice, Pool::kPinned}) {
    const auto place = static_cast<std::size_t>(pool);
    if (bytes[place] == 0) continue;
    Result<SharedMemory> made = makePool(pool, bytes[place]);
    RONDO_RETURN_IF_ERROR(made.status());
    given.gift.pools[place] = nameMemory(*made, *self_.device, host_);
    given.pools[place] = *std::move(made);
  }
  return given;
}

Result<SharedMemory> DeviceLinks::makePool(Pool pool, std::size_t bytes) {
  const Device& device = *self_.device;
  const bool exported = pool == Pool::kOnDevice && !openedBy().empty();
  const std::size_t unit = exported ? kDevicePageBytes : 1;
  const std::size_t rounded = (bytes + unit - 1) / unit * unit;
  Result<Memory> made =
      pool == Pool::kOnDevice ? device.allocate(rounded) : device.allocateOnHost(rounded);
  RONDO_RETURN_IF_ERROR(made.status());
  given_ |= exported;
  own_.push_back(std::make_shared<const Memory>(*std::move(made)));
  return own_.back();
}

Status DeviceLinks::link(const EndName& name, const Given& own, Opened& others) {
  const int from = name.sends ? self_.rank : name.peer;
  const int to = name.sends ? name.peer : self_.rank;
  const LinkPart& part = *own.gift.find(from, to, name.channel);
  std::byte* const mine =
      own.pools[static_cast<std::size_t>(part.pool)]->onDevice<std::byte>() + part.offset;
  const Result<std::byte*> theirs = others.part(name.peer, from, to, name.channel);
  RONDO_RETURN_IF_ERROR(theirs.status());
  ends_.emplace(
      name, name.sends ? endOf(*theirs, mine, slots_, name) : endOf(mine, *theirs, slots_, name));
  return {};
}

/// A connection of the host's transports; what a kernel puts there, progress() moves on.
Status DeviceLinks::connectOverWire(const EndName& name) {
  const int from = name.sends ? self_.rank : name.peer;
  const int to = name.sends ? name.peer : self_.rank;
  const Result<ConnectionMemory> memory = group_->connection(from, to, name.channel);
  RONDO_RETURN_IF_ERROR(memory.status());
  const Result<std::byte*> control = map(memory->control, sizeof(ConnectionControl));
  RONDO_RETURN_IF_ERROR(control.status());
  const Result<std::byte*> slots = map(memory->slots, memory->slotBytes * memory->slotCount);
  RONDO_RETURN_IF_ERROR(slots.status());
  device::End end;
  end.tail = reinterpret_cast<std::uint64_t*>(*control + offsetof(ConnectionControl, tail));
  end.head = reinterpret_cast<std::uint64_t*>(*control + offsetof(ConnectionControl, head));
  end.entries = reinterpret_cast<SlotEntry*>(*control + offsetof(ConnectionControl, entries));
  end.slots = *slots;
  end.slotBytes = static_cast<std::uint32_t>(memory->slotBytes);
  end.slotCount = memory->slotCount;
  end.peer = name.peer;
  ends_.emplace(name, end);
  return {};
}

Result<std::byte*> DeviceLinks::map(void* memory, std::size_t bytes) {
  Result<Memory> mapping = self_.device->mapHostMemory(memory, wholePages(bytes));
  RONDO_RETURN_IF_ERROR(mapping.status());
  mapped_.push_back(*std::move(mapping));
  return mapped_.back().onDevice<std::byte>();
}

std::vector<int> DeviceLinks::openedBy() const {
  std::vector<int> ranks;
  for (int rank = 0; ways_.has_value() && rank < self_.ranks; ++rank) {
    if (rank != self_.rank && ways_->opensFromOutside(rank) && !overWire(rank))
      ranks.push_back(rank);
  }
  return ranks;
}

std::size_t DeviceLinks::memoryBytes() const {
  std::size_t bytes = 0;
  for (const SharedMemory& memory : own_)
    bytes += memory->bytes();
  return bytes;
}

void DeviceLinks::leaveGivenBehind() {
  std::ranges::for_each(own_, cuda::leaveBehind);
}

void DeviceLinks::leaveBehind() {
  leaveGivenBehind();
  std::ranges::for_each(opened_, cuda::leaveBehind);
  if (mapped_.empty()) return;
  for (Memory& memory : mapped_)
    memory.leaveBehind();
  (void)new std::shared_ptr<RankGroup>(group_);  // whose memory it is
}

}  // namespace rondo::cuda
