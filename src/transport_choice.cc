#include "src/transport_choice.h"

#include <utility>

#include "src/log.h"

namespace rondo {

namespace {

/// Said of a transport that a rank has not opened because it leads nowhere.
constexpr std::string_view kLeadsNowhere = "no other rank can be reached by it";

/// What ranks told each other, for one transport of one rank.
class Reachability {
 public:
  Reachability(const TransportList& transports,
               int rank,
               const std::vector<Offers>& offers,
               const std::vector<Outcomes>& outcomes)
      : transports_(transports), rank_(rank), offers_(offers), outcomes_(outcomes) {}

  /// Why `peer` cannot be reached by the transport at `place`; empty if it can.
  std::string obstacle(std::size_t place, int peer) const {
    if (!offered(place, peer)) return whyNotOffered(place, peer);
    const auto ranks = static_cast<int>(offers_.size());
    for (int other = 0; other < ranks; ++other) {
      const bool concerned = other == rank_ || other == peer ||
                             (transports_[place]->sharesMemory() && offered(place, other));
      const std::string& why = outcomes_[static_cast<std::size_t>(other)][place];
      if (concerned && !why.empty()) return fmt::format("rank {}: {}", other, why);
    }
    return {};
  }

  /// Whether this rank and `peer` have made offers that fit.
  bool offered(std::size_t place, int peer) const {
    const std::string& own = offers_[static_cast<std::size_t>(rank_)][place];
    const std::string& other = offers_[static_cast<std::size_t>(peer)][place];
    return !own.empty() && !other.empty() &&
           (peer == rank_ || transports_[place]->canReach(peer, other));
  }

 private:
  std::string whyNotOffered(std::size_t place, int peer) const {
    for (const int rank : {rank_, peer}) {
      const auto at = static_cast<std::size_t>(rank);
      if (offers_[at][place].empty()) return fmt::format("rank {}: {}", rank, outcomes_[at][place]);
    }
    return "they do not share what it needs";
  }

  const TransportList& transports_;
  int rank_;
  const std::vector<Offers>& offers_;
  const std::vector<Outcomes>& outcomes_;
};

/// The offers that transport `place` is opened with: empty for ranks that it cannot reach.
std::vector<std::string> reachableOffers(const TransportList& transports,
                                         std::size_t place,
                                         int rank,
                                         const std::vector<Offers>& offers) {
  const Reachability reachability(transports, rank, offers, {});
  std::vector<std::string> reachable;
  for (int peer = 0; peer < static_cast<int>(offers.size()); ++peer) {
    const bool there = reachability.offered(place, peer);
    reachable.push_back(there ? offers[static_cast<std::size_t>(peer)][place] : std::string());
  }
  return reachable;
}

/// Says that a transport which should work does not, and what is done without it.
/// @param peer the lowest of the ranks that it should lead to: the lowest of all warns for all.
void warnOfObstacle(int rank, int peer, std::string_view transport, const std::string& why) {
  if (rank > peer) return;
  RONDO_LOG(kWarn, kTransport, LogContext{.rank = rank},
            "{} does not lead to rank {} and others and is passed over: {}", transport, peer, why);
}

}  // namespace

OwnOffers makeOffers(const TransportList& transports) {
  OwnOffers own;
  for (const auto& transport : transports) {
    Result<std::string> offer = transport->offer();
    RONDO_CHECK(!offer.ok() || offer->size() <= kMaxOfferBytes);
    own.reasons.emplace_back(offer.ok() ? std::string() : std::string(offer.status().message()));
    own.offers.push_back(offer.ok() ? *std::move(offer) : std::string());
  }
  return own;
}

Outcomes openTransports(const TransportList& transports,
                        int rank,
                        const std::vector<Offers>& offers,
                        const Outcomes& own,
                        Deadline deadline) {
  Outcomes outcomes = own;
  for (std::size_t place = 0; place < transports.size(); ++place) {
    if (!outcomes[place].empty()) continue;
    const std::vector<std::string> reachable = reachableOffers(transports, place, rank, offers);
    const auto count = std::ranges::count_if(reachable, [](const auto& o) { return !o.empty(); });
    if (count < 2) {
      outcomes[place] = kLeadsNowhere;
      continue;
    }
    const Status opened = transports[place]->open(reachable, deadline);
    if (!opened.ok()) outcomes[place] = opened.message();
  }
  return outcomes;
}

std::vector<bool> servedBefore(const TransportList& transports,
                               std::size_t place,
                               int rank,
                               const std::vector<Offers>& offers,
                               const std::vector<Outcomes>& outcomes) {
  const Reachability reachability(transports, rank, offers, outcomes);
  std::vector<bool> served;
  for (int peer = 0; peer < static_cast<int>(offers.size()); ++peer) {
    bool some = peer == rank;
    for (std::size_t better = 0; better < place && !some; ++better)
      some = reachability.obstacle(better, peer).empty();
    served.push_back(some);
  }
  return served;
}

Result<std::vector<std::vector<std::size_t>>> chooseRoutes(const TransportList& transports,
                                                           int rank,
                                                           const std::vector<Offers>& offers,
                                                           const std::vector<Outcomes>& outcomes) {
  const Reachability reachability(transports, rank, offers, outcomes);
  std::vector<std::vector<std::size_t>> routes(offers.size());
  std::vector<bool> noted(transports.size());
  for (int peer = 0; peer < static_cast<int>(offers.size()); ++peer) {
    if (peer == rank) continue;
    std::string reasons;
    for (std::size_t place = 0; place < transports.size(); ++place) {
      const std::string why = reachability.obstacle(place, peer);
      const std::string noPath = why.empty() ? transports[place]->whyNoPath(peer) : "";
      if (why.empty() && noPath.empty()) {
        routes[static_cast<std::size_t>(peer)].push_back(place);
        continue;
      }
      reasons += fmt::format("; {}: {}{}", transports[place]->name(), why, noPath);
      // Of trials transports tell themselves.
      if (noPath.empty() && reachability.offered(place, peer) && !noted[place]) {
        noted[place] = true;
        warnOfObstacle(rank, peer, transports[place]->name(), why);
      }
    }
    if (routes[static_cast<std::size_t>(peer)].empty()) {
      return Status::notSupported("ranks {} and {} cannot reach each other{}", rank, peer, reasons);
    }
  }
  return routes;
}

}  // namespace rondo
