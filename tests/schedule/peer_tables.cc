#include "tests/schedule/peer_tables.h"

#include <vector>

namespace rondo::verifier {
namespace {

/// Which connections the tables of all ranks name, as seen from the sending or the receiving end.
class NamedConnections {
 public:
  explicit NamedConnections(int ranks)
      : ranks_(ranks), named_(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks)) {}

  /// False if an end is no rank, both are the same, or the connection is named already.
  bool add(int from, int to) {
    const bool ranks = from >= 0 && from < ranks_ && to >= 0 && to < ranks_;
    if (!ranks || from == to || named_[index(from, to)]) return false;
    named_[index(from, to)] = true;
    return true;
  }

  bool contains(int from, int to) const { return named_[index(from, to)]; }

 private:
  std::size_t index(int from, int to) const { return static_cast<std::size_t>(from * ranks_ + to); }

  int ranks_;
  std::vector<bool> named_;
};

}  // namespace

std::optional<Violation> checkPeerTables(const Setup& setup,
                                         const Call& call,
                                         std::size_t callIndex) {
  NamedConnections sending(setup.ranks);
  NamedConnections receiving(setup.ranks);
  const auto violation = [&](int rank, std::string cause) {
    return Violation{Failure::kTablesDisagree, rank, callIndex, 0, std::move(cause)};
  };
  for (int rank = 0; rank < setup.ranks; ++rank) {
    const auto schedule = setup.make(call.algorithm, call.args(rank, setup.ranks));
    for (int entry = 0; entry < schedule->sendPeers(); ++entry) {
      const int peer = schedule->sendPeer(entry);
      if (!sending.add(rank, peer)) {
        return violation(rank, joined("send entry ", entry, " is bad or repeated: ", peer));
      }
    }
    for (int entry = 0; entry < schedule->recvPeers(); ++entry) {
      const int peer = schedule->recvPeer(entry);
      if (!receiving.add(peer, rank)) {
        return violation(rank, joined("receive entry ", entry, " is bad or repeated: ", peer));
      }
    }
  }
  for (int from = 0; from < setup.ranks; ++from) {
    for (int to = 0; to < setup.ranks; ++to) {
      if (sending.contains(from, to) == receiving.contains(from, to)) continue;
      const char* const end = sending.contains(from, to) ? "sender" : "receiver";
      return violation(from, joined("only the ", end, " knows of connection ", from, " to ", to));
    }
  }
  return std::nullopt;
}

}  // namespace rondo::verifier
