// How ranks that are processes become a communicator: they meet at the rendezvous of a unique id,
// check that they agree, and share memory.
#pragma once

#include <memory>

#include "src/bootstrap/rendezvous.h"
#include "src/bootstrap/unique_id.h"
#include "src/config.h"
#include "src/planner.h"
#include "src/status.h"
#include "transports/rank_group.h"

namespace rondo {

/// What of the settings the rendezvous is told.
RendezvousSettings rendezvousSettings(const Config& config);

struct JoinedRanks {
  std::shared_ptr<RankGroup> group;
  PlanFacts facts;  ///< agreed: the same on all ranks
};

/// Returns once all ranks have joined.
/// @param own what this rank knows by itself; all but `cpus` must be the same on all ranks
/// @errors InvalidArgument (rank or id), Timeout (names the missing ranks), Mismatch (settings or
/// versions
///         differ), NotSupported (ranks on several hosts), OutOfMemory, PeerLost, SystemError
Result<JoinedRanks> joinProcessRanks(const UniqueId& id,
                                     int rank,
                                     const PlanFacts& own,
                                     const Config& config);

}  // namespace rondo
