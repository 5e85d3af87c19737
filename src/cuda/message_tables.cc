#include "src/cuda/message_tables.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/host/message_table.h"
#include "transports/connection.h"

namespace rondo::cuda {

namespace {

/// Groups of one rank that may be under way; one more waits for these.
constexpr std::size_t kPlaces = 8;

/// Of each place at first: about 150 messages.
constexpr std::size_t kFirstBytes = 16 << 10;

/// Tables one behind the other, in an order that both passes over them keep: one counts their
/// bytes, the other one stores them.
class TableWriter {
 public:
  /// @param at   where the tables will be; null in the first pass
  /// @param from where they are stored meanwhile; null in the first pass
  TableWriter(std::byte* at, std::byte* from) : at_(at), from_(from) {}

  /// @return the table's address
  template <class T>
  const T* put(const std::vector<T>& table) {
    static_assert(alignof(T) <= alignof(std::uint64_t) && sizeof(T) % alignof(std::uint64_t) == 0);
    const std::size_t first = std::exchange(bytes_, bytes_ + table.size() * sizeof(T));
    if (from_ == nullptr) return nullptr;
    if (!table.empty()) std::memcpy(from_ + first, table.data(), table.size() * sizeof(T));
    return reinterpret_cast<const T*>(at_ + first);
  }

  template <class T>
  TableView<T> view(const std::vector<T>& table) {
    return {put(table), table.size()};
  }

  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* at_;
  std::byte* from_;
  std::size_t bytes_ = 0;
};

template <class T>
std::vector<T> listOf(std::span<const T> items) {
  return {items.begin(), items.end()};
}

/// The end for each round that has a peer.
template <class PeerOf>
Result<std::vector<device::End*>> endsOfRounds(std::size_t rounds,
                                               bool sends,
                                               const PeerOf& peerOf,
                                               DeviceEnds& ends) {
  std::vector<device::End*> table(rounds, nullptr);
  for (std::size_t round = 0; round < rounds; ++round) {
    if (peerOf(round) < 0) continue;
    const Result<device::End*> end = ends.find({peerOf(round), kDeviceMessageChannel, sends});
    RONDO_RETURN_IF_ERROR(end.status());
    table[round] = *end;
  }
  return table;
}

}  // namespace

Status MessageTablePool::prepare() {
  while (places_.size() < kPlaces) {
    auto place = std::make_unique<MessageTables>();
    Result<Memory> tables = device_->allocate(kFirstBytes);
    RONDO_RETURN_IF_ERROR(tables.status());
    place->tables = *std::move(tables);
    Result<Memory> reports = device_->allocateOnHost(kMessageLanes * sizeof(device::Report));
    RONDO_RETURN_IF_ERROR(reports.status());
    place->reports = *std::move(reports);
    places_.push_back(std::move(place));
  }
  return {};
}

MessageTables* MessageTablePool::find(std::size_t bytes) {
  const auto found = std::ranges::find_if(places_, [bytes](const auto& place) {
    return !place->used.load(std::memory_order_acquire) && place->tables.bytes() >= bytes;
  });
  return found == places_.end() ? nullptr : found->get();
}

Result<MessageTables*> MessageTablePool::grow(std::size_t bytes) {
  if (MessageTables* const found = find(bytes)) return found;
  // What is the largest anyway, so that the small ones stay for small groups.
  MessageTables& place = *places_.back();
  Result<Memory> tables = device_->allocate(2 * bytes);
  RONDO_RETURN_IF_ERROR(tables.status());
  place.tables = *std::move(tables);
  return &place;
}

void MessageTablePool::leaveBehind() {
  for (const auto& place : places_) {
    place->tables.leaveBehind();
    place->reports.leaveBehind();
  }
}

Result<PackedMessages> PackedMessages::make(const MessageList& list,
                                            int ranks,
                                            std::size_t slotBytes,
                                            DeviceEnds& ends) {
  PackedMessages packed;
  packed.pieceBytes_ = slotBytes;
  std::vector<host::ListedMessage> listed;
  for (const MessageCall& call : list.calls()) {
    packed.messages_.push_back({static_cast<const std::byte*>(call.source),
                                static_cast<std::byte*>(call.target), call.label().word()});
    listed.push_back({call.peer, call.bytes(), call.sends});
  }
  for (int lane = 0; lane < kMessageLanes; ++lane) {
    const host::MessageTable table({list.rank(), ranks, lane, kMessageLanes, slotBytes}, listed);
    const std::size_t rounds = table.roundCount();
    if (rounds == 0) continue;
    Lane& made = packed.lanes_.emplace_back();
    made.rounds = listOf(table.roundList());
    made.sends = listOf(table.sendList());
    made.recvs = listOf(table.recvList());
    Result<std::vector<device::End*>> send = endsOfRounds(
        rounds, true, [&](std::size_t round) { return table.sendPeer(round); }, ends);
    RONDO_RETURN_IF_ERROR(send.status());
    made.sendEnds = *std::move(send);
    Result<std::vector<device::End*>> recv = endsOfRounds(
        rounds, false, [&](std::size_t round) { return table.recvPeer(round); }, ends);
    RONDO_RETURN_IF_ERROR(recv.status());
    made.recvEnds = *std::move(recv);
  }
  if (packed.lanes_.empty()) packed.lanes_.emplace_back();
  std::size_t next = 0;
  for (const auto& [send, recv] : list.own()) {
    if (list.calls()[send].count == 0) continue;
    packed.lanes_[next++ % packed.lanes_.size()].own.push_back(
        {packed.messages_[send].source, packed.messages_[recv].target, list.calls()[send].bytes()});
  }
  return packed;
}

namespace {

/// All but the lanes themselves, whose views are set.
template <class Lanes, class Messages>
std::vector<device::MessageLane> putTables(TableWriter& writer,
                                           const Lanes& lanes,
                                           const Messages& messages) {
  std::vector<device::MessageLane> heads(lanes.size());
  writer.put(heads);  // their room; their contents follow from the rest
  const device::Message* const all = writer.put(messages);
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    device::MessageLane& head = heads[lane];
    head.rounds = writer.view(lanes[lane].rounds);
    head.sends = writer.view(lanes[lane].sends);
    head.recvs = writer.view(lanes[lane].recvs);
    head.own = writer.view(lanes[lane].own);
    head.send = writer.put(lanes[lane].sendEnds);
    head.recv = writer.put(lanes[lane].recvEnds);
    head.messages = all;
  }
  return heads;
}

}  // namespace

std::size_t PackedMessages::bytes() const {
  TableWriter counter(nullptr, nullptr);
  putTables(counter, lanes_, messages_);
  return counter.bytes();
}

Status PackedMessages::store(const Device& device, MessageTables& tables) {
  std::vector<std::byte> packed(bytes());
  TableWriter writer(tables.tables.onDevice<std::byte>(), packed.data());
  std::vector<device::MessageLane> heads = putTables(writer, lanes_, messages_);
  for (std::size_t lane = 0; lane < heads.size(); ++lane) {
    heads[lane].pieceBytes = pieceBytes_;
    heads[lane].report = tables.reports.onDevice<device::Report>() + lane;
  }
  std::memcpy(packed.data(), heads.data(), heads.size() * sizeof(device::MessageLane));
  tables.lanes = lanes();
  return device.copyIn(tables.tables, packed.data(), packed.size());
}

}  // namespace rondo::cuda
