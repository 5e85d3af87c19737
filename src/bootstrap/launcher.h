// What started this process as one of several ranks, and what it says about how they find each
// other. A pure function of variables; acting on it is src/environment_ranks.h's business.
//
// docs/bootstrap.md lists the launchers and their variables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/config.h"
#include "src/net/socket.h"
#include "src/status.h"

namespace rondo {

/// In the order in which they are looked for: the one that is closest to the process first.
enum class Launcher : std::uint8_t {
  kVariables,  ///< RONDO_RANK and RONDO_RANKS, set by hand or by `rondo run`
  kTorchrun,
  kOpenMpi,
  kMpich,  ///< and others that speak PMI-1
  kSlurm,
};

/// "torchrun", ...
std::string_view launcherName(Launcher launcher);

/// How the ranks of a launch find each other.
enum class MeetingPlace : std::uint8_t {
  kNowhere,  ///< there is one rank
  kRoot,     ///< rank 0 listens at a host and a port that all know
  kPmix,     ///< rank 0 tells where it is through the launcher's PMIx server
  kPmi1,     ///< the same over the launcher's PMI-1 connection
};

/// A host, by name or number, and the ports one of which is meant.
struct RootPlace {
  std::string host;
  PortRange ports;
};

/// What a launcher told this process.
struct Launch {
  Launcher launcher = Launcher::kVariables;
  int rank = 0;
  int ranks = 1;
  std::optional<int> localRank;   ///< among those of this host
  std::optional<int> localRanks;  ///< on this host
  MeetingPlace place = MeetingPlace::kNowhere;
  RootPlace root;          ///< of kRoot
  int pmiDescriptor = -1;  ///< of kPmi1; the launcher's, not to be closed
  /// The same on all ranks of a job and different in other jobs, as far as the launcher's variables
  /// go. Not secret.
  std::string job;
  /// Which variables it was found by, for the log.
  std::string evidence;
};

/// Whether any launcher has left its variables, right or wrong. Pure.
bool isLaunched(const MeetingSettings& settings, const Environment& environment);

/// Finds out who this rank is. Pure.
/// @param settings    those of RONDO_ variables.
/// @param environment all variables.
/// @errors   InvalidArgument: no launcher is there (the message lists what was looked for), or a
///   variable is missing, no number, or contradicts another (the message names it).
Result<Launch> findLaunch(const MeetingSettings& settings, const Environment& environment);

/// Reads "host:port", "host:first-last" or "host" with `defaults` for ports; IPv6 numbers before a
/// port are in brackets. Pure.
/// @errors   InvalidArgument.
Result<RootPlace> parseRootPlace(std::string_view text, PortRange defaults);

/// The first host of a Slurm node list: "node[007-012,020],login" begins with node007. Pure.
/// @return empty if there is none.
std::string firstSlurmHost(std::string_view list);

}  // namespace rondo
