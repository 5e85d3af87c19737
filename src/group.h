// The group that the calling thread is collecting between rondoGroupStart and rondoGroupEnd.
#pragma once

#include <cstddef>
#include <vector>

#include "rondo/rondo.h"
#include "src/group_calls.h"
#include "src/status.h"

namespace rondo {

/// What a group as a whole came to.
struct GroupOutcome {
  Status status;
  /// The handles it was about, whose last error it is.
  std::vector<rondoComm_t> members;
};

/// @threads each has its own: ofThread().
class CallGroup {
 public:
  static CallGroup& ofThread();

  /// Between the outermost start() and its end().
  bool collecting() const { return depth_ > 0; }

  void start() { ++depth_; }

  void add(rondoComm_t comm, const CollectiveCall& call, rondoStream_t stream) {
    callsOf(comm).collectives.emplace_back(call, stream);
  }

  void add(rondoComm_t comm, const MessageCall& call) { callsOf(comm).messages.push_back(call); }

  /// A call was refused for `reason`: end() carries nothing out.
  void refuse(const Status& reason) {
    if (refused_.ok()) refused_ = reason;
  }

  /// Ends the innermost start(); the outermost one's end carries the calls out and forgets them,
  /// whatever comes of them.
  /// @errors InvalidUsage (no start()), that of the first refused call, those of runGroup()
  GroupOutcome end();

  /// Ends the innermost start() and has the group carry nothing out.
  /// @errors InvalidUsage (no start())
  Status cancel();

 private:
  struct Member {
    rondoComm_t comm = nullptr;
    GroupCalls calls;
  };

  GroupCalls& callsOf(rondoComm_t comm);

  std::size_t depth_ = 0;
  std::vector<Member> members_;
  Status refused_;
};

/// One message by itself: a group of one.
/// @errors those of runGroup()
Status runMessage(rondoComm_t comm, const MessageCall& call);

}  // namespace rondo
