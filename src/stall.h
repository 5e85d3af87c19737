// What a rank that waits can find out about the peer it waits for, from the peer's call record: has
// it called something else, has it left, has it not called yet?
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/host/lane.h"
#include "src/status.h"
#include "src/user_reduction.h"
#include "transports/call_record.h"

namespace rondo {

/// How long a rank may take to call again after its call was rejected, before those who wait for
/// the call give up: enough for a program that mends its arguments, too short for one that ended.
inline constexpr std::chrono::seconds kTimeToCallAgain{1};

/// For a rank that sent what does not fit to say what it is doing: the message is better then.
inline constexpr std::chrono::milliseconds kPatienceForNews{1000};

/// Whether a limit has passed; 0 ms is none.
constexpr bool isDue(std::chrono::milliseconds limit, std::chrono::milliseconds waited) {
  return limit.count() > 0 && waited >= limit;
}

/// CallSignature::op of a reduction: those of functions come behind those of kernels.
constexpr std::uint8_t signatureOp(ReduceOp op, Combiner combiner) {
  if (combiner == Combiner::kBuiltIn) return static_cast<std::uint8_t>(op);
  return static_cast<std::uint8_t>(kReduceOpCount - 1 + static_cast<int>(combiner));
}

/// "all_reduce #12 float sum count 1024".
std::string describeCall(const CallSignature& call);

/// The rank that waits, its call and what it has published.
struct Waiting {
  int rank = 0;
  const CallSignature& call;
  const CallRecord& record;
};

/// Ok while the peer may still come.
/// @errors Mismatch (a remembered call of the same number differs), PeerLost (it left before this
/// call)
Status judgePeer(const Waiting& own, int peer, const CallRecord& record);

/// Ok unless `peer` remembers a call of the same number as `own` that differs from it.
/// @errors Mismatch
Status compareCall(int rank, const CallSignature& own, int peer, const CallRecord& record);

/// The error for a slot of `peer` that belongs to another call, whose fingerprint is `otherCall`.
Status mismatchWith(const Waiting& own,
                    int peer,
                    const CallRecord& record,
                    std::uint64_t otherCall);

/// The error for a peer that has finished its call of the same number, yet moved none of the data
/// that this rank waits for.
Status finishedWithout(const Waiting& own, int peer, const CallRecord& record);

/// What the peer refused to call, if it is its call of the same number or an earlier one that it
/// needs to make first, and if it has not called since.
std::optional<CallRecord::Rejection> rejectionOf(const CallSignature& own,
                                                 const CallRecord& record);

/// The error for a peer that refused a call and did not call again.
Status rejectedBy(const Waiting& own, int peer, const CallRecord::Rejection& rejection);

/// The error for a peer that is gone.
/// @param why as RankGroup::whyLost() says it
Status lostBefore(int rank, const CallSignature& own, int peer, std::string_view why);

/// The error for a call that has waited as long as it may.
/// @param who for whom, as describePeer() says it
Status waitedTooLong(int rank,
                     const CallSignature& own,
                     std::chrono::milliseconds waited,
                     std::string_view who);

/// Says so in the log of a call that waits long, but still may.
/// @param communicator its name
void warnOfWait(int rank,
                std::string_view communicator,
                const CallSignature& own,
                std::chrono::milliseconds waited,
                std::string_view who);

/// What a rank is given beyond the limit of its wait, so that those come first who wait for the
/// rank that is to blame: in an operation of several stages a peer that has called may itself wait
/// for that one, the likelier the later the stage.
std::chrono::milliseconds patienceBeyondLimit(const CallSignature& own,
                                              const host::Blocked& blocked,
                                              const CallRecord& record);

/// "rank 3, which has not called yet (its last call: all_gather #41 float count 8)".
std::string describePeer(const CallSignature& own,
                         const host::Blocked& blocked,
                         const CallRecord& record);

}  // namespace rondo
