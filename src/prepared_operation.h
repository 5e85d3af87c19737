// A planned operation with everything it needs to run again and again: its lanes are bound to
// connections, its arithmetic is chosen. Made on a call's first occurrence, then found in a cache,
// so that a repeated call allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/host/executor.h"
#include "src/coded_blocks.h"
#include "src/collective_call.h"
#include "src/connection_ends.h"
#include "src/planner.h"
#include "src/worker_crew.h"

namespace rondo {

struct PreparedOperation {
  PlanRequest request;
  Plan plan;
  host::Arithmetic arithmetic;  ///< all but the scale, which belongs to the call
  std::vector<host::Lane> lanes;
  std::optional<host::MailboxCall> mailboxCall;  ///< instead of lanes
  std::optional<host::StagedLanes> stages;       ///< instead of lanes
  std::vector<host::CodedLane> codedLanes;       ///< the same, of a compressed operation
  std::unique_ptr<const CodedBlocks> blocks;     ///< of such a one; else null
  WorkerCrew* crew = nullptr;  ///< shares the lanes; null: the calling thread runs all. Not owned
  bool underway = false;       ///< of what the crew runs: it has begun, and goes on after a stall

  /// Goes back to the first step.
  void restart();

  /// Whether it computes with floats, so that its steps need the library's floating-point mode.
  bool computes() const { return arithmetic.combine != nullptr || blocks != nullptr; }

  /// Whether it is that of `call`, if their requests are equal.
  bool fits(const CollectiveCall& call) const { return blocks == nullptr || blocks->fits(call); }

  /// Compressed: elements that this rank adds up and encodes.
  std::size_t codedResults() const;

  /// Compressed: what the call that has just ended came to.
  host::CodingOutcome codingOutcome() const;

  /// Goes on until it is done or its waiter has something to say.
  host::RunOutcome run(const host::Work& work, host::Waiter& waiter);

  /// Does what is ready, without waiting. Not again once it said that it is finished. The caller
  /// sees to the floating-point mode, and to what was posted.
  host::Turn takeTurn(const host::Work& work);

  /// The first that it waits for.
  host::Blocked firstBlocked(const host::Work& work);

  /// As host::Lane::withdraw().
  void withdraw(const std::function<void(int)>& onReader);

  /// Whether it cannot go on without `peer`.
  bool blockedOn(int peer, const host::Work& work);
};

/// Puts where the blocks of `call`, which are of different sizes, are into `args`, in place of
/// blocks of one size.
void setBlocks(const CollectiveCall& call, ScheduleArgs& args);

/// Plans `request` for `rank` and binds it to connections.
/// @errors NotSupported (nothing was changed), OutOfMemory
/// @param varied the call of `request`, if its blocks are of different sizes: the operation is for
///   this call only, as it looks into the call's arrays; else null
Result<PreparedOperation> prepareOperation(const PlanRequest& request,
                                           const PlanFacts& facts,
                                           const PlanSettings& settings,
                                           int rank,
                                           RankEnds ends,
                                           const CollectiveCall* varied = nullptr);

/// The same for a call with a compression, which it is for.
Result<PreparedOperation> prepareCodedOperation(const PlanRequest& request,
                                                const PlanFacts& facts,
                                                const PlanSettings& settings,
                                                int rank,
                                                RankEnds ends,
                                                const CollectiveCall& call);

/// Spreads requests over places.
std::uint32_t requestHash(const PlanRequest& request);

/// The operations prepared last. A full place is given to the newcomer. @threads one at a time.
/// @tparam Operation has the PlanRequest it was prepared for as `request`
template <class Operation>
class PreparedCache {
 public:
  /// Null if there is none.
  Operation* find(const PlanRequest& request) const {
    Operation* operation = places_[placeOf(request)].get();
    return operation != nullptr && operation->request == request ? operation : nullptr;
  }

  /// Gives up the operation in whose place one for `request` would be kept; null if there is none.
  std::unique_ptr<Operation> release(const PlanRequest& request) {
    return std::move(places_[placeOf(request)]);
  }

  /// Keeps `operation`; valid until another operation takes its place.
  Operation* keep(Operation operation) {
    std::unique_ptr<Operation>& place = places_[placeOf(operation.request)];
    place = std::make_unique<Operation>(std::move(operation));
    return place.get();
  }

  /// Calls `visit` with each operation.
  template <class Visitor>
  void forEach(const Visitor& visit) {
    for (const std::unique_ptr<Operation>& place : places_) {
      if (place != nullptr) visit(*place);
    }
  }

 private:
  /// Places: a training step makes the same few dozen calls over and over.
  static constexpr std::size_t kPlaces = 256;

  static std::size_t placeOf(const PlanRequest& request) {
    return static_cast<std::size_t>(requestHash(request)) % kPlaces;
  }

  std::array<std::unique_ptr<Operation>, kPlaces> places_;
};

}  // namespace rondo
