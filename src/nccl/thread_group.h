// The calling thread's group. Operations of a group on memory of the host are Rondo's own affair
// (src/group.h). Here is what NCCL allows in a group besides, for threads that drive several ranks:
// calls that make communicators, and operations of several communicators on devices. Both wait for
// other ranks, so at the group's end each rank's part runs in a thread of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "rondo/nccl/nccl.h"
#include "rondo/rondo.h"
#include "src/nccl/calls_underway.h"

namespace rondo::nccl {

/// @threads each has its own: ofThread()
class ThreadGroup {
 public:
  /// A call of Rondo's with its arguments.
  using Call = std::function<rondoResult_t()>;

  static ThreadGroup& ofThread();

  /// Between the outermost start() and its end().
  bool collecting() const { return depth_ > 0; }

  void start();

  /// Runs `maker`, which makes a communicator, now, or if it waits for others and there is a group,
  /// at the group's end.
  ncclResult_t make(Call maker, bool waits);

  /// The group has an operation on `comm`, which is underway until the group has ended.
  void include(rondoComm_t comm);

  /// include(), with the operation, for a communicator on a device. Only while collecting().
  void addOnDevice(rondoComm_t comm, Call operation);

  /// Ends the innermost start(). The outermost one's end makes the group's communicators, then
  /// carries out its operations; if a communicator was not made, it does not.
  ncclResult_t end();

  /// Ends the innermost start() and has the group do nothing.
  ncclResult_t cancel();

 private:
  struct DeviceRank {
    rondoComm_t comm = nullptr;
    std::vector<Call> operations;
  };

  /// What is collected; the group that follows begins with nothing.
  struct Content {
    bool cancelled = false;
    bool inProgress = false;  ///< communicators are being made, and nobody waits
    std::vector<Call> makers;
    std::vector<rondoComm_t> members;
    std::vector<DeviceRank> deviceRanks;
  };

  /// Does what Rondo's group, which is still open, does not do.
  /// @param underway receives the group's communicators, to be kept until Rondo's group has ended
  ncclResult_t makeAtOnce(const Call& maker);
  static ncclResult_t prepare(const Content& content, std::vector<Underway>& underway);
  static rondoResult_t operate(const std::vector<DeviceRank>& ranks);

  std::size_t depth_ = 0;
  Content content_;
};

}  // namespace rondo::nccl
