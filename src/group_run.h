// Drives the ranks of a group in the calling thread: all of them in turns, so that ranks that wait
// for each other may belong to one thread.
#pragma once

#include <optional>
#include <span>

#include "src/group_member.h"
#include "src/operation_order.h"
#include "src/status.h"

namespace rondo {

/// One communicator's part of a group.
struct GroupPart {
  Communicator* communicator = nullptr;
  GroupCalls calls;
  /// Of a part that was issued on a stream; else its turn comes when the group is run.
  std::optional<IssuedPlace> place{};
};

/// Carries out all calls of a group, in the calling thread. Each communicator appears once and is
/// on host memory. Changes the order of `parts`. Allocates nothing for calls like those of the last
/// groups.
/// @order  on return all results are complete on the ranks of the group
/// @errors an argument error of the group as a whole (nothing was sent); a failure of one of its
///   communicators, which then have all failed whose calls were not complete
Status runGroup(std::span<GroupPart> parts);

/// Carries out messages of `communicator` on host memory by which it prepares others on its device,
/// in a turn that the caller has.
/// @errors the failure of the communicator
Status driveInTurn(Communicator& communicator, const GroupCalls& calls);

}  // namespace rondo
