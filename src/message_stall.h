// What a rank that waits for a message can say: whose end does not fit, who is gone, who has not
// come. What src/stall.h is to collectives; here not all ranks take part, so that what a peer has
// called is no evidence of what it will call.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "kernels/host/message_lane.h"
#include "src/message_list.h"
#include "src/status.h"
#include "transports/call_record.h"

namespace rondo {

/// The error for a message whose two ends differ in type or count.
Status messageMismatch(int rank, const MessageList& messages, const host::MessageLane::Wait& wait);

/// The error for a message whose other end is gone.
/// @param whyLost as RankGroup::whyLost() says it; empty: it left in good order
Status messagePeerLost(int rank,
                       const MessageList& messages,
                       const host::MessageLane::Wait& wait,
                       std::string_view whyLost);

/// The error for a message whose other end was refused, and not called again.
/// @param why as its rank said it
Status messageRejected(int rank,
                       const MessageList& messages,
                       const host::MessageLane::Wait& wait,
                       std::string_view why);

/// "its recv #4 from rank 3 of float count 100: rank 3 is in no group of messages (...)".
/// @param aside what else there is to say of what has come, as MessageOperation::describeAside()
std::string describeMessageWait(const MessageList& messages,
                                const host::MessageLane::Wait& wait,
                                const CallRecord& record,
                                std::string_view aside);

/// The error for messages that have waited as long as they may.
/// @param what as describeMessageWait() says it
Status messagesWaitedTooLong(int rank, std::chrono::milliseconds waited, std::string_view what);

/// Says so in the log of messages that wait long, but still may.
/// @param communicator its name
void warnOfMessageWait(int rank,
                       std::string_view communicator,
                       std::chrono::milliseconds waited,
                       std::string_view what);

}  // namespace rondo
