// Which transport leads to whom: ranks make offers, open what they can, tell each other how that
// went, and choose alike.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/net/deadline.h"
#include "src/status.h"
#include "transports/transport.h"

namespace rondo {

/// One rank's transports, best first.
using TransportList = std::vector<std::shared_ptr<Transport>>;

/// For each transport of a list, a rank's offer; empty where it has none.
using Offers = std::vector<std::string>;

/// How opening went: for each transport empty if it is open, else why it is not.
using Outcomes = std::vector<std::string>;

struct OwnOffers {
  Offers offers;
  Outcomes reasons;  ///< why there is no offer; empty where there is one
};

/// Asks all transports.
OwnOffers makeOffers(const TransportList& transports);

/// Opens all transports by which some other rank can be reached.
/// @param offers by rank
/// @param own    reasons of makeOffers()
Outcomes openTransports(const TransportList& transports,
                        int rank,
                        const std::vector<Offers>& offers,
                        const Outcomes& own,
                        Deadline deadline);

/// By peer: whether a transport before that at `place` leads there, trials aside. Both ends answer
/// alike; true for the own rank.
/// @param outcomes by rank
std::vector<bool> servedBefore(const TransportList& transports,
                               std::size_t place,
                               int rank,
                               const std::vector<Offers>& offers,
                               const std::vector<Outcomes>& outcomes);

/// By peer: the places in `transports` of those that lead there, best first; none for the own rank.
/// Paths have been tried (path_trials.h).
/// A transport that shares memory is used by all ranks that can reach each other by it, or by none
/// of them.
/// @param outcomes by rank
/// @errors NotSupported: some rank cannot be reached; the message says why, for each transport.
Result<std::vector<std::vector<std::size_t>>> chooseRoutes(const TransportList& transports,
                                                           int rank,
                                                           const std::vector<Offers>& offers,
                                                           const std::vector<Outcomes>& outcomes);

}  // namespace rondo
