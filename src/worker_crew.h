// The threads that help a rank with its large operations. A crew belongs to a communicator: its
// threads are started when an operation first wants them and sleep between operations.
//
// An operation's lanes are divided into parts, one for the calling thread and one for each helper.
// A part is with its helper or at home, with the calling thread:
//
//     calling thread                              helper
//     hands the part out, rings          --->     takes turns over its lanes
//     runs the parts that are at home             ... until nothing is left or nothing has moved
//     sees that it is back               <---     for a while; gives it back, rings
//     runs it, and hands it out again
//     once it moves
//
// So all waiting is the calling thread's: when nothing moves, all parts come home, and it sleeps at
// the rank's doorbell, looks at peers and finds failures as a rank without helpers does. Between
// polling and sleeping nobody else has to know who runs a lane.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "kernels/host/executor.h"
#include "src/status.h"
#include "transports/connection.h"
#include "transports/doorbell_place.h"

namespace rondo {

/// @threads one at a time.
class WorkerCrew {
 public:
  /// @param policy     how long a helper looks for something to do; as the waiters of its
  /// operations
  /// @param failedFlag the communicator's; must outlive the crew
  /// @param place      where the calling thread waits; must outlive the crew
  WorkerCrew(const host::WaitPolicy& policy, std::uint32_t& failedFlag, host::WaitPlace& place);
  /// Ends the threads.
  ~WorkerCrew();
  WorkerCrew(const WorkerCrew&) = delete;
  WorkerCrew& operator=(const WorkerCrew&) = delete;

  /// Starts helpers until there are `wanted`.
  /// @errors SystemError; those that could be started help
  Status grow(std::size_t wanted);

  std::size_t helpers() const { return helpers_.size(); }

  /// As host::runLanes(), with the lanes divided among as many workers, or those that there are. On
  /// return no helper runs any.
  /// @param begins the operation begins; false: it goes on after a stall, with the same arguments
  /// @param workers at least 1, the calling thread included
  host::RunOutcome run(std::span<host::Lane> lanes,
                       int workers,
                       const host::Work& work,
                       host::Waiter& waiter,
                       bool begins);

 private:
  struct Helper;

  /// Lanes that one worker runs.
  struct Part {
    std::span<host::Lane> lanes;
    Helper* helper = nullptr;  // whose it is; null: the calling thread's
    bool out = false;          // it is with the helper
    bool finished = false;
  };

  void divide(std::span<host::Lane> lanes, std::size_t workers);
  host::RunOutcome takeTurns(std::span<host::Lane> lanes,
                             const host::Work& work,
                             host::Waiter& waiter);
  host::Turn takeTurn(const host::Work& work);
  static void handOut(Part& part, const host::Work& work);
  /// True if the part was out and is back now.
  static bool takeBack(Part& part);
  bool allHome() const;
  void callHome();

  // Helpers' threads.
  void serve(Helper& helper) const;
  bool awaitPart(Helper& helper, std::uint64_t number) const;
  void runPart(Helper& helper, std::uint64_t number) const;

  const host::WaitPolicy policy_;
  std::uint32_t* failedFlag_;
  host::WaitPlace* place_;
  std::vector<std::unique_ptr<Helper>> helpers_;
  std::vector<Part> parts_;  // of the operation that runs; room for one more than helpers
};

}  // namespace rondo
