// What a waiting rank can do besides looking again: move data that does not move by itself, and
// sleep until a peer has changed something. Where that is (a doorbell in shared memory, sockets) is
// known to the transports.
#pragma once

#include <chrono>

namespace rondo::host {

/// One rank's. @threads the one that runs the rank's operation, but for wake().
class WaitPlace {
 public:
  virtual ~WaitPlace() = default;

  /// Moves what connections hold in between, where the two ends do not share memory. Never blocks.
  /// @return true if something moved.
  virtual bool progress() = 0;

  /// True if nothing that this rank has posted waits for a further progress().
  virtual bool flushed() const = 0;

  /// Announces a sleep: whatever a peer changes from now on ends it. The rank looks once more and
  /// then either sleeps or stays awake. Places whose sleep() looks by itself need none of it.
  virtual void prepareSleep() {}

  /// Takes back what prepareSleep() announced: something has moved meanwhile.
  virtual void stayAwake() {}

  /// Sleeps until a peer may have changed something, at most for `atMost`. May return early. Ends
  /// what prepareSleep() began.
  virtual void sleep(std::chrono::microseconds atMost) = 0;

  /// Ends the rank's sleep, or the one that it has announced, as a peer's post would: for another
  /// thread of the rank's own. @threads any
  virtual void wake() {}

 protected:
  WaitPlace() = default;
  WaitPlace(const WaitPlace&) = default;
  WaitPlace& operator=(const WaitPlace&) = default;
};

}  // namespace rondo::host
