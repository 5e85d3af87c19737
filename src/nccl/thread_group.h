// The calling thread's group. Operations of a group are Rondo's own affair (src/group.h); here are
// the calls that make communicators, which in NCCL may be part of a group too: a thread that drives
// several ranks makes the communicators of all in one, so they are made side by side at its end.
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
  /// Makes a communicator, waiting for other ranks.
  using Maker = std::function<rondoResult_t()>;

  static ThreadGroup& ofThread();

  void start();

  /// Runs `maker` now, or at the end of the group if there is one.
  ncclResult_t make(Maker maker);

  /// The group has an operation on `comm`, which is underway until the group has ended.
  void include(rondoComm_t comm);

  /// Ends the innermost start(). The outermost one's end makes the group's communicators, then
  /// carries out its operations; if one of those was not made, it does not.
  ncclResult_t end();

  /// Ends the innermost start() and has the group do nothing.
  ncclResult_t cancel();

 private:
  bool collecting() const { return depth_ > 0; }

  std::size_t depth_ = 0;
  bool cancelled_ = false;
  std::vector<Maker> makers_;
  std::vector<rondoComm_t> members_;
};

}  // namespace rondo::nccl
