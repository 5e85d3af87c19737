// Whether what transports have opened also leads to the others: those that cannot know that by
// themselves try it, between the ranks' telling each other what they opened and choosing.
#pragma once

#include <vector>

#include "src/bootstrap/exchange.h"
#include "src/net/deadline.h"
#include "src/status.h"
#include "src/transport_choice.h"

namespace rondo {

/// Has each transport that tries paths, and that two ranks at least have opened, do so. All ranks
/// call alike; there are three exchanges, or none. Afterwards transports know which paths lead
/// nowhere.
/// @param offers   by rank
/// @param outcomes by rank
/// @errors those of `exchange`; Mismatch. That a path fails is none.
Status tryPaths(Exchange& exchange,
                const TransportList& transports,
                int rank,
                const std::vector<Offers>& offers,
                const std::vector<Outcomes>& outcomes,
                Deadline deadline);

}  // namespace rondo
