// The connections of a transport whose ends do not share memory: a link for each end that this rank
// has, and what is known of all of them together.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "transports/private_connection.h"
#include "transports/slot_account.h"
#include "transports/transport.h"

namespace rondo {

/// One end's slots, paid for by `account`; with fewer slots than `wanted` if it is short of memory.
/// @param behindPerSlot PrivateConnection::make()
/// @errors OutOfMemory, naming the connection.
inline Result<std::unique_ptr<PrivateConnection>> makePaidConnection(
    SlotAccount& account,
    SlotShape wanted,
    int from,
    int to,
    int channel,
    std::size_t behindPerSlot = 0) {
  Result<SlotShape> slots = account.take(wanted);
  if (!slots.ok()) {
    return std::move(slots).status().withContext(
        fmt::format("connection from rank {} to rank {} channel {}", from, to, channel));
  }
  auto connection =
      PrivateConnection::make(slots->bytes, slots->count, behindPerSlot * slots->count);
  if (connection != nullptr) return connection;
  account.giveBack(*slots);
  return noMemory(from, to, channel, *slots);
}

/// @tparam SendLink has posted(), released(), flushed(), taken(), whyLost(), close()
/// @tparam RecvLink has arrived(), released(), connected(), ended(), hasRoom(), whyLost(), close()
/// @threads one at a time; traffic() any
template <class SendLink, class RecvLink>
class WireLinks {
 public:
  using Key = std::pair<int, int>;  ///< peer, channel

  std::map<Key, SendLink>& sends() { return sends_; }

  std::map<Key, RecvLink>& recvs() { return recvs_; }

  const std::map<Key, SendLink>& sends() const { return sends_; }

  const std::map<Key, RecvLink>& recvs() const { return recvs_; }

  template <class... Args>
  SendLink& addSend(Key key, Args&&... args) {
    const std::scoped_lock lock(mutex_);
    return sends_.try_emplace(key, std::forward<Args>(args)...).first->second;
  }

  template <class... Args>
  RecvLink& addRecv(Key key, Args&&... args) {
    const std::scoped_lock lock(mutex_);
    return recvs_.try_emplace(key, std::forward<Args>(args)...).first->second;
  }

  // As the members of Transport.

  bool flushed() const {
    return std::ranges::all_of(sends_, [](const auto& entry) { return entry.second.flushed(); });
  }

  bool taken() const {
    return std::ranges::all_of(sends_, [](const auto& entry) { return entry.second.taken(); });
  }

  Traffic traffic(int peer) const {
    const std::scoped_lock lock(mutex_);
    Traffic traffic;
    for (const auto& [key, link] : sends_) {
      if (key.first != peer) continue;
      traffic.posted += link.posted();
      traffic.credited += link.released();
    }
    for (const auto& [key, link] : recvs_) {
      if (key.first != peer) continue;
      traffic.arrived += link.arrived();
      traffic.released += link.released();
    }
    return traffic;
  }

  bool drained(int peer) const {
    return std::ranges::all_of(recvs_, [peer](const auto& entry) {
      const RecvLink& link = entry.second;
      return entry.first.first != peer || link.ended() || !link.connected() || !link.hasRoom();
    });
  }

  std::string whyLost(int peer) const {
    for (const auto& [key, link] : recvs_) {
      if (key.first == peer && !link.whyLost().empty()) return link.whyLost();
    }
    for (const auto& [key, link] : sends_) {
      if (key.first == peer && !link.whyLost().empty()) return link.whyLost();
    }
    return {};
  }

  void close() {
    for (auto& [key, link] : sends_)
      link.close();
    for (auto& [key, link] : recvs_)
      link.close();
  }

 private:
  mutable std::mutex mutex_;  // held to change the maps, and by traffic(), to read them
  std::map<Key, SendLink> sends_;
  std::map<Key, RecvLink> recvs_;
};

}  // namespace rondo
