// Chooses how an operation is carried out: a pure function of the call, the facts all ranks agreed
// on and the settings. It never looks at addresses, so equal calls give equal plans on all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/any_schedule.h"
#include "collectives/two_level/two_level.h"
#include "kernels/codec.h"
#include "kernels/cuda/protocol.h"
#include "kernels/data_type.h"
#include "src/config.h"
#include "src/status.h"
#include "src/user_reduction.h"

namespace rondo {

/// How a compressed call encodes its elements, as far as all ranks must agree on it.
struct CodedRequest {
  Codec codec = Codec::kInt8;
  std::size_t blockElems = kDefaultBlockElems;
  std::uint64_t tensorsHash = 0;  ///< of the tensors' sizes; 0: there is one
  bool feedback = false;          ///< on devices: each rank has an error feedback

  friend bool operator==(const CodedRequest&, const CodedRequest&) = default;
};

/// What of a call a plan may depend on.
struct PlanRequest {
  Collective collective = Collective::kBarrier;
  std::size_t count = 0;  ///< as in CollectiveCall
  DataType type = DataType::kUint8;
  ReduceOp op = ReduceOp::kSum;
  Combiner combiner = Combiner::kBuiltIn;
  bool pairs = false;  ///< as in CollectiveCall
  int root = 0;
  bool varied = false;           ///< blocks of different sizes, which not all ranks know
  std::uint64_t countsHash = 0;  ///< of those that all ranks know
  std::optional<CodedRequest> coded{};

  friend bool operator==(const PlanRequest&, const PlanRequest&) = default;
};

/// Bytes of the larger of a rank's buffers, at the root where there is one: the size of a call.
std::size_t callBytes(const PlanRequest& request, int ranks);

/// What the ranks of a communicator agreed on when it was made.
struct PlanFacts {
  int ranks = 1;
  int cpus = 1;                  ///< processors that the ranks share
  std::size_t slotBytes = 0;     ///< bytes of each connection's slots
  std::uint32_t slotCount = 0;   ///< slots per connection
  std::size_t mailboxBytes = 0;  ///< most bytes of messages in mailboxes; 0: there are none
  /// Who is where, if there are several hosts; else null. Shared by what is planned by it.
  std::shared_ptr<const HostMap> hosts{};
  int workers = 1;            ///< most threads that carry out an operation of one rank
  bool workersAsked = false;  ///< somebody chose their number, whatever cores there are
  int memoryNodes = 1;        ///< NUMA nodes that the ranks' processors are on
};

/// The facts that follow from the settings: slot size and number as configured, or the defaults.
PlanFacts planFacts(int ranks, int cpus, const Config& config);

/// Most workers that a rank would have by its settings, whatever its cores: as many as were asked
/// for, and no more than have room for their slots in a quarter of the memory that slots may take.
int workersBySettings(const PlanFacts& facts, const Config& config);

/// What the user asked for.
struct PlanSettings {
  static PlanSettings of(const Config& config);

  bool reproducible = false;    ///< rank-order algorithms only wherever the order changes bits
  int channels = 0;             ///< 0: as many as the algorithm needs
  std::vector<PlanRule> rules;  ///< what algorithms and chunks were asked for
  std::shared_ptr<const TuningTable> tuning;  ///< what is preferred to predictions; null: nothing
};

struct Plan {
  AlgorithmId algorithm{};
  int channels = 1;
  /// Threads of each rank that share the channels, where they may be had; the result does not
  /// depend on it, and ranks need not agree on it.
  int workers = 1;
  std::size_t chunkElems = 1;   ///< most elements per slot
  std::size_t grain = 1;        ///< elements in a cache line, or in a slot if those are fewer
  device::Protocol protocol{};  ///< of kernels
  /// On the host: in one hop through mailboxes, added in rank order, without the algorithm's steps.
  bool throughMailboxes = false;
  TwoLevelGeometry twoLevel{};  ///< of the stages, where isTwoLevel(algorithm)
  double predictedMicros = 0;   ///< by the cost model, for explain; not part of the agreement
  double measuredMicros = 0;    ///< at the nearest size of the tuning table; 0: not measured

  /// Differs whenever algorithm, channels, protocol, chunk or stages differ.
  std::uint64_t geometryHash() const;
};

/// One algorithm as the planner sees it for a request.
struct Candidate {
  AlgorithmId algorithm{};
  bool eligible = false;
  std::string reason;  ///< why it is not, for people; else empty
  Plan plan;           ///< valid where eligible
};

/// All algorithms of the request's collective, in registry order.
std::vector<Candidate> planCandidates(const PlanRequest& request,
                                      const PlanFacts& facts,
                                      const PlanSettings& settings);

/// The eligible candidate with the lowest measured time, or if none was measured, predicted time.
/// @errors NotSupported if the algorithm asked for can't do the request; the text says why.
Result<Plan> makePlan(const PlanRequest& request,
                      const PlanFacts& facts,
                      const PlanSettings& settings);

/// What the schedule of `rank` on `channel` is made from under `plan`; not isTwoLevel().
ScheduleArgs scheduleArgs(
    const Plan& plan, const PlanRequest& request, int ranks, int rank, int channel);

/// What `rank` does under a `plan` of two levels. Made of `facts.hosts`.
TwoLevel twoLevelOf(const Plan& plan, const PlanRequest& request, const PlanFacts& facts, int rank);

}  // namespace rondo
