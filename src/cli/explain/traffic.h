// Who sends to whom, hop by hop: found by letting the schedules of all ranks run on paper.
#pragma once

#include <string>
#include <vector>

#include "src/planner.h"
#include "src/status.h"

namespace rondo::cli {

/// One slot on its way.
struct Message {
  int hop = 0;  ///< 1 for what is sent before anything was received
  int from = 0;
  int to = 0;
};

/// A request of the same kind that `plan` carries out in a single loop.
PlanRequest singleLoop(const Plan& plan, const PlanRequest& request, int ranks);

/// The messages of `request` on one channel, in order of hop, sender and receiver.
/// @errors Internal, if the schedules don't fit each other
Result<std::vector<Message>> messagesOf(const Plan& plan,
                                        const PlanRequest& request,
                                        int ranks,
                                        int channel);

/// "hop 1   0 -> 1 2   3 -> 2": a line per hop, shortened unless `everything`.
std::string trafficText(const std::vector<Message>& messages, bool everything);

}  // namespace rondo::cli
