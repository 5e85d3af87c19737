// Ranks that take their number, and how to meet, from the environment: what
// rondoCommInitFromEnvironment does before a communicator can be made.
#pragma once

#include <memory>

#include "src/bootstrap/launcher.h"
#include "src/bootstrap/rendezvous.h"
#include "src/bootstrap/unique_id.h"
#include "src/config.h"
#include "src/status.h"

namespace rondo {

/// Who this rank is and where it meets the others.
struct EnvironmentMeeting {
  Launch launch;
  UniqueId id;  ///< of no meaning where there is one rank
  /// Rank 0's, where there are more; its end ends the meeting. Null elsewhere.
  std::unique_ptr<Rendezvous> rendezvous;
  /// The id's secret is one that others could work out: trust private networks only.
  bool privateOnly = false;
};

/// Finds the launcher, and the root; makes rank 0 the root. The root need not be up yet.
/// @threads  one at a time under MPI's launchers, whose channels are one per process.
/// @errors   those of findLaunch(), makeJobKey(), Rendezvous::start(), resolveHost(),
///   probeForRoot(), LauncherStore::spread(); InvalidArgument (a root that is not on a private
///   network, without a secret).
Result<EnvironmentMeeting> meetByEnvironment(const Config& config,
                                             const Environment& environment,
                                             Deadline deadline);

}  // namespace rondo
