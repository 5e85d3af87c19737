// How ranks that are processes become a communicator: they tell each other who and where they are,
// check that they agree, open the transports by which they can reach each other, try paths that may
// lead nowhere, and settle on one for each pair.
#pragma once

#include <memory>

#include "src/bootstrap/exchange.h"
#include "src/bootstrap/secret_key.h"
#include "src/config.h"
#include "src/planner.h"
#include "src/process_group.h"
#include "src/status.h"

namespace rondo {

struct JoinedRanks {
  std::shared_ptr<ProcessGroup> group;
  PlanFacts facts;  ///< agreed: the same on all ranks
};

/// Returns once all ranks have joined.
/// @param exchange among all ranks of the communicator
/// @param key      known to them only
/// @param own      what this rank knows by itself; all but `cpus` must be the same on all ranks
/// @errors those of `exchange`; Mismatch (settings or versions differ), NotSupported (two ranks
///   cannot reach each other; the message says why by no transport), OutOfMemory, SystemError
Result<JoinedRanks> joinProcessRanks(
    Exchange& exchange, const SecretKey& key, int rank, const PlanFacts& own, const Config& config);

}  // namespace rondo
