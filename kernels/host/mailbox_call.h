// A small operation among ranks that share memory: everyone posts what others need of it in its
// mailbox and takes what it needs from theirs. One hop, no schedule, no slots.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/schedule.h"
#include "kernels/host/lane.h"
#include "transports/mailbox.h"

namespace rondo::host {

/// What one rank does in one call, in elements.
struct MailboxRole {
  std::size_t posted = 0;  ///< from the start of its input; 0 may still be posted, as a signal
  bool posts = true;
  /// Ranks whose contributions it takes, its own among them: `elems` from `offset` on of each.
  int firstSource = 0;
  int sources = 0;
  std::size_t offset = 0;
  std::size_t elems = 0;
  /// Contributions are folded in rank order; else they lie in the output one after another.
  bool folds = false;
};

/// @param count as in the call
MailboxRole mailboxRole(Collective collective, int rank, int ranks, int root, std::size_t count);

/// @threads one at a time.
class MailboxCall {
 public:
  /// @param ends must outlive this object
  MailboxCall(MailboxEnds& ends, const MailboxRole& role);

  /// Goes back to the start, for the next operation of the same kind.
  void restart() { posted_ = false; }

  /// Goes as far as it can. Allocates nothing, never blocks. Never kMismatch: a box of another call
  /// looks like one that is not full yet.
  StepResult tryStep(const Work& work);

  /// After kNotReady.
  Blocked blockedOn(const Work& work) const;

 private:
  bool tryPost(const Work& work);
  void fillBox(const Work& work);
  /// A rank whose contribution is missing; -1: none is.
  int missingSource(const Work& work) const;
  const std::byte* contribution(int rank, const Work& work) const;
  void fold(const Work& work);
  void collect(const Work& work);

  MailboxEnds* ends_;
  MailboxRole role_;
  bool posted_ = false;
  std::vector<Operand>
      operands_;  // rebuilt by each call; a member so that running allocates nothing
};

}  // namespace rondo::host
