// Whether paths between adapters lead anywhere, found out before transports are chosen: offers tell
// which addresses two hosts have, but not whether a router, a switch or a firewall lets one reach
// the other. One pair of ranks tries each path between two hosts, with a queue pair for it alone.
//
//     Trials::prepare    a queue pair for each path           -> invitation, to all ranks
//     Trials::accept     ready, for those that invite, too    -> all ranks have accepted
//     Trials::run        one empty message by each            -> findings, to all ranks
//
// A path is passed over by all ranks of the two hosts if either end has found that it fails.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/net/deadline.h"
#include "src/status.h"
#include "transports/verbs/queue_pair.h"

namespace rondo::verbs {

/// For ranks to become ready, and then for messages to be acknowledged.
inline constexpr std::chrono::milliseconds kTrialPatience{5000};

/// With whom `rank` tries paths, nearest ranks first: for any two hosts one rank of each does so,
/// and within a host the first two. Pure, and the same pairs on all ranks.
/// @param ports by rank, as offered; equal for ranks of one host. Empty for ranks that take no part
///   or are out of reach.
std::vector<int> trialPartners(int rank, const std::vector<std::string>& ports);

/// Paths that have failed, as one rank has found.
struct TrialFindings {
  /// Peer, and place in the list of paths between the two.
  std::vector<std::pair<int, std::size_t>> failed;
  std::string why;  ///< the first of them has

  friend bool operator==(const TrialFindings&, const TrialFindings&) = default;
};

/// Empty if nothing has failed.
std::string encodeFindings(const TrialFindings& findings);

/// Nothing if they are no findings; of no failures if `text` is empty.
std::optional<TrialFindings> decodeFindings(std::string_view text);

/// What one rank tries.
/// @threads one at a time
class Trials {
 public:
  struct Path {
    int peer = 0;
    std::size_t number = 0;  ///< place in the list of paths between the two
    PortChoice place;
    Gid peerGid{};
    bool routed = false;  ///< PortPair::routed
  };

  /// A path for which there is no queue pair is not tried.
  /// @param settings of connections: their service level and traffic class are what is tried
  void prepare(std::vector<Path> paths, const Settings& settings);

  /// What the peers need to know.
  std::string invitation() const;

  /// Connects to those who have invited `rank`; other paths are not tried.
  /// @param invitations by rank
  void accept(int rank, const std::vector<std::string>& invitations, Deadline deadline);

  /// Sends a message over each path, and waits for their acknowledgements.
  TrialFindings run(Deadline deadline);

  /// Not before all ranks have run(): until then queue pairs must acknowledge.
  void end() { trials_.clear(); }

 private:
  struct Trial {
    Path path;
    std::unique_ptr<QueuePair> pair;
    bool passed = false;
    std::string failure{};

    bool isOver() const { return passed || !failure.empty(); }
  };

  static void send(Trial& trial);
  static void look(Trial& trial);
  TrialFindings findings() const;

  std::vector<Trial> trials_;
};

}  // namespace rondo::verbs
