// The group that the calling thread is collecting between rondoGroupStart and rondoGroupEnd.
#pragma once

#include <cstddef>
#include <vector>

#include "rondo/rondo.h"
#include "src/group_calls.h"
#include "src/host_stream.h"
#include "src/status.h"

namespace rondo {

struct StreamParts;

/// What a group as a whole came to.
struct GroupOutcome {
  Status status;
  /// Parts of it go on, in the threads of their communicators.
  bool inProgress = false;
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

  /// A call of a communicator on a device.
  void add(rondoComm_t comm, const CollectiveCall& call, rondoStream_t stream) {
    callsOf(comm).collectives.push_back({call, stream});
  }

  /// A message of such a communicator.
  /// @errors InvalidUsage (another stream than its earlier messages)
  Status add(rondoComm_t comm, const MessageCall& call, rondoStream_t stream);

  /// A call of a communicator on host memory.
  /// @param stream null: to be carried out by end()
  /// @errors InvalidUsage (another stream than the communicator's earlier calls)
  Status addOnHost(rondoComm_t comm, const CollectiveCall& call, rondoStream_t stream);
  Status addOnHost(rondoComm_t comm, const MessageCall& call, rondoStream_t stream);

  /// A call was refused for `reason`: end() carries nothing out.
  void refuse(const Status& reason) {
    if (refused_.ok()) refused_ = reason;
  }

  /// The same, for a message with `peer`.
  void refuseMessage(rondoComm_t comm, int peer, const Status& reason) {
    refuse(reason);
    callsOf(comm).refusedPeers.push_back(peer);
  }

  /// Ends the innermost start(); the outermost one's end carries the calls out, or issues them on
  /// their streams, and forgets them, whatever comes of them.
  /// @errors InvalidUsage (no start()), that of the first refused call, those of runGroup()
  GroupOutcome end();

  /// Ends the innermost start() and has the group carry nothing out.
  /// @errors InvalidUsage (no start())
  Status cancel();

  /// One message by itself: a group of one. Not while collecting().
  /// @param stream   to be issued on; null: in the calling thread
  /// @param onDevice stream of the communicator's device; null on host memory
  /// @errors those of runGroup() or Communicator::runMessages()
  Status runMessage(Communicator& communicator,
                    const MessageCall& call,
                    HostStream* stream,
                    rondoStream_t onDevice);

 private:
  struct Member {
    rondoComm_t comm = nullptr;
    rondoStream_t hostStream = nullptr;
    GroupCalls calls;
  };

  static Result<bool> sortIn(const Member& member, std::vector<StreamParts>& groups);
  Communicator* soleCommunicator() const;
  Status runAlone(Communicator& communicator, GroupCalls calls);
  GroupCalls& addMember(rondoComm_t comm, rondoStream_t hostStream);
  GroupCalls& callsOf(rondoComm_t comm);
  Result<GroupCalls*> callsOf(rondoComm_t comm, rondoStream_t hostStream);

  std::size_t depth_ = 0;
  std::vector<Member> members_;
  GroupCalls spare_;  // no calls, but memory for those of the next group
  Status refused_;
};

}  // namespace rondo
