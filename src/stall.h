// What a rank that waits can find out about the peer it waits for, from the peer's call record: has
// it called something else, has it left, has it not called yet?
#pragma once

#include <string>
#include <string_view>

#include "kernels/host/lane.h"
#include "src/status.h"
#include "transports/call_record.h"

namespace rondo {

/// "all_reduce #12 float sum count 1024".
std::string describeCall(const CallSignature& call);

/// Ok while the peer may still come.
/// @errors Mismatch (the peer's call of the same number differs), PeerLost (it left before this
/// call)
Status judgePeer(int rank, const CallSignature& own, int peer, const CallRecord& record);

/// The error for a slot of `peer` that belongs to another call.
Status mismatchWith(int rank, const CallSignature& own, int peer, const CallRecord& record);

/// The error for a peer that has finished its call of the same number, yet moved none of the data
/// that this rank waits for.
Status finishedWithout(int rank, const CallSignature& own, int peer, const CallRecord& record);

/// The error for a peer that is gone.
/// @param why as RankGroup::whyLost() says it
Status lostBefore(int rank, const CallSignature& own, int peer, std::string_view why);

/// "rank 3, which has not called yet (its last call: all_gather #41 float count 8)".
std::string describePeer(const CallSignature& own,
                         const host::Blocked& blocked,
                         const CallRecord& record);

}  // namespace rondo
