#include "src/planner.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "collectives/buffers.h"
#include "src/cost_model.h"
#include "transports/mailbox.h"
#include "transports/slot_shape.h"

namespace rondo {

namespace {

constexpr std::size_t kCacheLineBytes = 64;

/// Bytes of a slot unless configured: large enough that a step's fixed cost does not show, small
/// enough that four of them stay in a 512 KiB second-level cache.
constexpr std::size_t kDefaultSlotBytes = 65536;
constexpr std::uint32_t kDefaultSlots = 4;

/// Bytes of a slot unless configured: fewer where the least of connections with every other rank,
/// one each way, would else not fit into the half of slot memory that is kept for such.
std::size_t defaultSlotBytes(int ranks, std::size_t slotMemoryBytes) {
  if (slotMemoryBytes == 0 || ranks < 2) return kDefaultSlotBytes;
  const std::size_t perConnection = slotMemoryBytes / 2 / (2 * static_cast<std::size_t>(ranks - 1));
  const std::size_t forSlots = perConnection - std::min(perConnection, connectionBytes({0, 0}));
  const std::size_t slot = forSlots / kPageBytes * kPageBytes / kFewestSlots;
  return std::clamp(slot, kPageBytes / kFewestSlots, kDefaultSlotBytes);
}

/// Pieces that a channel's share may be cut into, if they stay above kMinPlannedPieceBytes: more
/// keep the stages of a pipeline busy, fewer let the cost of a step not show.
constexpr std::array<std::size_t, 4> kPipelinePieces{1, 2, 4, 8};
constexpr std::size_t kMinPlannedPieceBytes = 8192;

/// Of the predicted time: what several workers must save at least to be woken.
constexpr double kLeastSavedByWorkers = 0.1;

/// What goes through the stages of two levels at a time, of a rank's part: enough pieces to keep
/// both levels busy, each large enough that the way there and back between hosts (a tenth of a
/// millisecond, at 1 GB/s the time of 100 KiB) does not show. Not larger than what stays in a
/// cache.
constexpr std::size_t kStagedPieces = 4;
constexpr std::size_t kMinStagedBytes = 131072;
constexpr std::size_t kMaxStagedBytes = 1048576;

/// True if the bits of the result depend on the order in which contributions are folded.
bool orderMatters(DataType type, ReduceOp op) {
  return isFloat(type) && op != ReduceOp::kMin && op != ReduceOp::kMax;
}

/// True if rounding the partial sum to the element's type at each hop would give a wrong result,
/// not only a less precise one (docs/numerics.md).
bool needsAccumulator(DataType type, ReduceOp op) {
  if (op == ReduceOp::kAvg) return accumulatorBytes(type, op) != elementBytes(type);
  return isFp8(type) && orderMatters(type, op);
}

/// Why `info` can't do the request at all; empty if it can.
std::string_view prohibition(const AlgorithmInfo& info,
                             const PlanRequest& request,
                             const PlanSettings& settings) {
  if (request.varied && !info.variedBlocks) return "takes blocks of one size only";
  if (info.order != FoldOrder::kHopRounded) return {};
  if (needsAccumulator(request.type, request.op)) {
    return "rounds partial sums at each hop, which this type and reduction must not";
  }
  if (request.combiner == Combiner::kOrderedUser) {
    return "does not combine in rank order, which a function that is not commutative needs";
  }
  const bool mayMatter =
      request.combiner != Combiner::kBuiltIn || orderMatters(request.type, request.op);
  if (settings.reproducible && mayMatter) {
    return "does not add in rank order, which reproducible mode asks for";
  }
  return {};
}

/// Why `info` is not chosen unless named; empty if it may be.
std::string_view reservation(const AlgorithmInfo& info, const PlanRequest& request) {
  if (info.order == FoldOrder::kHopRounded && isNarrowFloat(request.type) &&
      orderMatters(request.type, request.op)) {
    return "rounds to 16 bits at each hop; used only when asked for by name";
  }
  return {};
}

std::size_t widestWireBytes(const AlgorithmInfo& info, const PlanRequest& request) {
  const std::size_t elem = elementBytes(request.type);
  return info.widePartials ? std::max(elem, accumulatorBytes(request.type, request.op)) : elem;
}

/// Elements of a chunk of at most `bytes` bytes, as many as fill whole cache lines if they can.
std::size_t chunkOf(std::size_t bytes, std::size_t wireBytes, const Plan& plan) {
  return std::max(bytes / wireBytes / plan.grain, std::size_t{1}) * plan.grain;
}

/// Elements of the largest chunk that a slot holds.
std::size_t mostChunkElems(const AlgorithmInfo& info,
                           const PlanRequest& request,
                           const PlanFacts& facts,
                           const Plan& plan) {
  return facts.slotBytes / widestWireBytes(info, request) / plan.grain * plan.grain;
}

/// Chooses the chunk that makes `plan` fastest, as far as predicted; the larger one of equals.
void chooseChunk(const AlgorithmInfo& info,
                 const PlanRequest& request,
                 const PlanFacts& facts,
                 Plan& plan) {
  const std::size_t most = mostChunkElems(info, request, facts, plan);
  plan.chunkElems = most;
  plan.predictedMicros = predictMicros(plan, request, facts, HostCosts{});
  // Ranks cut the blocks that they share alike, though each knows its own only.
  if (info.aggregatesBlocks || request.varied) return;
  const std::size_t wireBytes = widestWireBytes(info, request);
  const std::size_t share = ceilDiv(request.count, static_cast<std::size_t>(plan.channels));
  for (const std::size_t pieces : kPipelinePieces) {
    Plan other = plan;
    const std::size_t piece = std::max(ceilDiv(share, pieces), kMinPlannedPieceBytes / wireBytes);
    other.chunkElems = std::min(ceilDiv(piece, plan.grain) * plan.grain, most);
    other.predictedMicros = predictMicros(other, request, facts, HostCosts{});
    if (other.predictedMicros < plan.predictedMicros) plan = other;
  }
}

/// The fastest of `measured` that was done by `id`; null: none was.
const TuningEntry* fastestOf(AlgorithmId id, std::span<const TuningEntry> measured) {
  const TuningEntry* fastest = nullptr;
  for (const TuningEntry& entry : measured) {
    if (entry.algorithm != id) continue;
    if (fastest == nullptr || entry.micros < fastest->micros) fastest = &entry;
  }
  return fastest;
}

/// What a rule or a measurement says of how `id` carries out a request.
struct Wish {
  std::size_t chunkBytes = 0;  ///< 0: nothing
  double measuredMicros = 0;   ///< 0: not measured
};

Wish wishFor(AlgorithmId id,
             const PlanRequest& request,
             const PlanFacts& facts,
             const PlanSettings& settings) {
  const std::size_t bytes = callBytes(request, facts.ranks);
  const PlanRule* const rule = findPlanRule(settings.rules, request.collective, bytes);
  Wish wish;
  if (rule != nullptr) wish.chunkBytes = rule->chunkBytes;
  if (settings.tuning == nullptr) return wish;
  const TuningEntry* const measured =
      fastestOf(id, settings.tuning->nearest(request.collective, facts.ranks, bytes));
  if (measured == nullptr) return wish;
  wish.measuredMicros = measured->micros;
  if (wish.chunkBytes == 0) wish.chunkBytes = measured->chunkBytes;
  return wish;
}

/// Replaces what was predicted by what was asked for or measured, where something was.
void adjustChunk(const AlgorithmInfo& info,
                 const PlanRequest& request,
                 const PlanFacts& facts,
                 const PlanSettings& settings,
                 Plan& plan) {
  if (info.aggregatesBlocks || request.varied) return;
  const Wish wish = wishFor(plan.algorithm, request, facts, settings);
  plan.measuredMicros = wish.measuredMicros;
  if (wish.chunkBytes == 0) return;
  plan.chunkElems = std::min(chunkOf(wish.chunkBytes, widestWireBytes(info, request), plan),
                             mostChunkElems(info, request, facts, plan));
  plan.predictedMicros = predictMicros(plan, request, facts, HostCosts{});
}

/// Why ranks that are spread like this can't work in two levels; empty if they can.
std::string_view prohibitionOfTwoLevels(Collective collective, const HostMap* hosts) {
  if (hosts == nullptr || hosts->most() == 1) {
    return "takes host memory and several hosts, with several ranks on some of them";
  }
  if (collective != Collective::kAllReduce && !hosts->even()) {
    return "takes as many ranks on each host as on any other";
  }
  return {};
}

/// Elements of a rank's part, or of each block, that go through the stages at a time.
std::size_t stagedElems(const PlanRequest& request, const HostMap& hosts, std::size_t grain) {
  const bool ofBlocks = request.collective != Collective::kAllReduce;
  const auto parts = static_cast<std::size_t>(ofBlocks ? 1 : hosts.fewest());
  // In scratch, reduce-scatter has as many blocks as there are hosts.
  const auto blocks = static_cast<std::size_t>(ofBlocks ? hosts.hosts() : 1);
  const std::size_t elemBytes = elementBytes(request.type);
  const std::size_t part = ceilDiv(request.count, parts);
  const std::size_t elems =
      std::clamp(ceilDiv(part, kStagedPieces), ceilDiv(kMinStagedBytes / blocks, elemBytes),
                 ceilDiv(kMaxStagedBytes / blocks, elemBytes));
  const std::size_t piece = ceilDiv(std::min(elems, part), grain) * grain * parts;
  return std::max<std::size_t>(std::min(piece, request.count), 1);
}

/// Elements of the chunks that `part` elements are moved in by one stage.
std::size_t stageChunk(const AlgorithmInfo& info,
                       std::size_t part,
                       const PlanRequest& request,
                       const PlanFacts& facts,
                       const Plan& stage) {
  const std::size_t least = kMinPlannedPieceBytes / widestWireBytes(info, request);
  const std::size_t elems = std::max(ceilDiv(part, kPipelinePieces.back()), least);
  return std::min(ceilDiv(elems, stage.grain) * stage.grain,
                  mostChunkElems(info, request, facts, stage));
}

/// The geometry with `between` for the stage between hosts.
TwoLevelGeometry stagesWith(AlgorithmId between,
                            const PlanRequest& request,
                            const PlanFacts& facts) {
  const AlgorithmInfo& info = algorithmInfo(between);
  const AlgorithmInfo& inside = algorithmInfo(*findAlgorithm(Collective::kReduceScatter, "direct"));
  TwoLevelGeometry geometry;
  geometry.between = between;
  Plan stage;
  stage.grain = std::min(kCacheLineBytes / elementBytes(request.type),
                         facts.slotBytes / widestWireBytes(info, request));
  geometry.grain = stage.grain;
  geometry.pieceElems = stagedElems(request, *facts.hosts, stage.grain);
  const bool ofBlocks = request.collective != Collective::kAllReduce;
  const auto parts = static_cast<std::size_t>(ofBlocks ? 1 : facts.hosts->fewest());
  const std::size_t part = ceilDiv(geometry.pieceElems, parts);
  geometry.insideChunk = stageChunk(inside, part, request, facts, stage);
  geometry.betweenChunk = stageChunk(info, part, request, facts, stage);
  return geometry;
}

/// `facts` with slots as small as the chunks that were asked for, but for a cache line, so that no
/// chunk ends in the middle of a complex number.
PlanFacts withChunk(PlanFacts facts, std::size_t chunkBytes) {
  if (chunkBytes > 0)
    facts.slotBytes = std::min(facts.slotBytes, std::max(chunkBytes, kCacheLineBytes));
  return facts;
}

/// What may be done between hosts: with all-reduce what adds in the order of the hosts, so that the
/// bits of a result do not depend on which it is.
std::vector<AlgorithmId> choicesBetween(Collective collective) {
  if (collective != Collective::kAllReduce) return {*findAlgorithm(collective, "direct")};
  std::vector<AlgorithmId> choices;
  for (const std::string_view name : {"one_shot", "two_shot", "chain"})
    choices.push_back(*findAlgorithm(collective, name));
  return choices;
}

Candidate considerTwoLevel(AlgorithmId id,
                           const PlanRequest& request,
                           const PlanFacts& facts,
                           const PlanSettings& settings) {
  const AlgorithmInfo& info = algorithmInfo(id);
  Candidate candidate;
  candidate.algorithm = id;
  candidate.plan.algorithm = id;
  candidate.reason = prohibition(info, request, settings);
  if (candidate.reason.empty()) {
    candidate.reason = prohibitionOfTwoLevels(request.collective, facts.hosts.get());
  }
  if (!candidate.reason.empty()) return candidate;
  const Wish wish = wishFor(id, request, facts, settings);
  for (const AlgorithmId between : choicesBetween(request.collective)) {
    Plan plan;
    plan.algorithm = id;
    plan.twoLevel = stagesWith(between, request, withChunk(facts, wish.chunkBytes));
    plan.measuredMicros = wish.measuredMicros;
    plan.grain = plan.twoLevel.grain;
    plan.chunkElems = std::max(plan.twoLevel.insideChunk, plan.twoLevel.betweenChunk);
    plan.predictedMicros = predictMicros(plan, request, facts, HostCosts{});
    if (candidate.eligible && plan.predictedMicros >= candidate.plan.predictedMicros) continue;
    candidate.plan = plan;
    candidate.eligible = true;
  }
  return candidate;
}

Candidate consider(AlgorithmId id,
                   const PlanRequest& request,
                   const PlanFacts& facts,
                   const PlanSettings& settings) {
  if (isTwoLevel(id)) return considerTwoLevel(id, request, facts, settings);
  const AlgorithmInfo& info = algorithmInfo(id);
  Candidate candidate;
  candidate.algorithm = id;
  Plan& plan = candidate.plan;
  plan.algorithm = id;
  plan.channels = settings.channels > 0 ? settings.channels : info.naturalChannels;
  if (request.varied) plan.channels = 1;
  plan.grain = std::min(kCacheLineBytes / elementBytes(request.type),
                        facts.slotBytes / widestWireBytes(info, request));
  plan.chunkElems = mostChunkElems(info, request, facts, plan);
  if (const std::string_view why = prohibition(info, request, settings); !why.empty()) {
    candidate.reason = why;
  } else if (static_cast<std::uint32_t>(info.minSlots) > facts.slotCount) {
    candidate.reason = "needs more slots per connection than are configured";
  } else if (info.aggregatesBlocks && plan.chunkElems < static_cast<std::size_t>(facts.ranks)) {
    candidate.reason = "needs a slot that holds an element of every block";
  } else {
    candidate.eligible = true;
    chooseChunk(info, request, facts, plan);
    adjustChunk(info, request, facts, settings, plan);
  }
  return candidate;
}

/// Applies the user's choice and the reservations to what is possible.
void narrow(std::vector<Candidate>& candidates, const PlanRequest& request, const PlanRule* rule) {
  for (Candidate& candidate : candidates) {
    if (!candidate.eligible) continue;
    std::string_view why;
    if (rule != nullptr) {
      if (candidate.algorithm != rule->algorithm) why = "another algorithm was asked for by name";
    } else {
      why = reservation(algorithmInfo(candidate.algorithm), request);
    }
    candidate.eligible = why.empty();
    candidate.reason = why;
  }
}

/// Whether the messages of `request` are small enough for mailboxes, and few enough: with many
/// ranks, more hops of fewer messages are faster.
bool fitsMailboxes(const PlanRequest& request, const PlanFacts& facts) {
  constexpr std::size_t kMostBytesRead = 32768;
  const bool sendsBlocks = holdsBlocks(buffersOf(request.collective).input);
  const std::size_t parts = sendsBlocks ? static_cast<std::size_t>(facts.ranks) : 1;
  if (request.count > facts.mailboxBytes / elementBytes(request.type) / parts) return false;
  const std::size_t bytes = request.count * parts * elementBytes(request.type);
  return static_cast<std::size_t>(facts.ranks) * std::max(bytes, kCacheLineBytes) <= kMostBytesRead;
}

bool goesThroughMailboxes(const PlanRequest& request,
                          const PlanFacts& facts,
                          const PlanRule* rule) {
  const bool anything = request.count > 0 || request.collective == Collective::kBarrier;
  return facts.mailboxBytes > 0 && facts.ranks > 1 && rule == nullptr && !request.varied &&
         anything && fitsMailboxes(request, facts);
}

/// Why no candidate is left, naming the algorithm that was asked for if one was.
Status noCandidate(const std::vector<Candidate>& candidates,
                   const PlanRequest& request,
                   const PlanRule* rule) {
  for (const Candidate& candidate : candidates) {
    if (rule != nullptr && candidate.algorithm != rule->algorithm) continue;
    return Status::notSupported("{} of {} {}: algorithm {} {}", collectiveName(request.collective),
                                dataTypeName(request.type), reduceOpName(request.op),
                                algorithmInfo(candidate.algorithm).name, candidate.reason);
  }
  return Status::internal("no algorithm for {}", collectiveName(request.collective));
}

const PlanRule* ruleFor(const PlanRequest& request,
                        const PlanFacts& facts,
                        const PlanSettings& settings) {
  return findPlanRule(settings.rules, request.collective, callBytes(request, facts.ranks));
}

/// What was measured is believed, and what was not is left out if something else was.
bool isFaster(const Plan& one, const Plan& other) {
  const bool measured = one.measuredMicros > 0;
  if (measured != (other.measuredMicros > 0)) return measured;
  return measured ? one.measuredMicros < other.measuredMicros
                  : one.predictedMicros < other.predictedMicros;
}

/// Whether workers may share the lanes of `plan`: where neither who computes nor the cut into
/// channels can be told from the result.
bool mayShareLanes(const Plan& plan, const PlanRequest& request, const PlanFacts& facts) {
  if (facts.workers < 2 || plan.throughMailboxes || request.varied) return false;
  if (isTwoLevel(plan.algorithm) || request.coded.has_value()) return false;
  // A program's function is called by the thread that called the library.
  if (request.combiner != Combiner::kBuiltIn) return false;
  return algorithmInfo(plan.algorithm).order != FoldOrder::kHopRounded ||
         !orderMatters(request.type, request.op);
}

/// `plan` with channels for `workers`, or with those that were asked for, shared by as many.
Plan withWorkers(Plan plan,
                 int workers,
                 const PlanRequest& request,
                 const PlanFacts& facts,
                 const PlanSettings& settings) {
  const AlgorithmInfo& info = algorithmInfo(plan.algorithm);
  if (settings.channels == 0)
    plan.channels = std::min(info.naturalChannels * workers, kMostWorkers);
  plan.workers = std::min(workers, plan.channels);
  chooseChunk(info, request, facts, plan);
  adjustChunk(info, request, facts, settings, plan);
  return plan;
}

/// `plan` as workers carry it out, where that is predicted to pay. The algorithm remains: which one
/// adds, and so the bits of a result, does not depend on the cores that ranks have.
Plan sharedByWorkers(const Plan& plan,
                     const PlanRequest& request,
                     const PlanFacts& facts,
                     const PlanSettings& settings) {
  if (!mayShareLanes(plan, request, facts)) return plan;
  const bool allAsked = facts.workersAsked && settings.channels > 0;
  if (allAsked) return withWorkers(plan, facts.workers, request, facts, settings);
  Plan best = plan;
  best.predictedMicros *= 1 - kLeastSavedByWorkers;
  int workers = facts.workersAsked ? facts.workers : 2;
  for (;;) {
    const Plan shared = withWorkers(plan, workers, request, facts, settings);
    if (shared.predictedMicros < best.predictedMicros) best = shared;
    if (workers == facts.workers) break;
    workers = std::min(2 * workers, facts.workers);
  }
  return best.workers > 1 ? best : plan;
}

}  // namespace

std::size_t callBytes(const PlanRequest& request, int ranks) {
  return request.count * elementBytes(request.type) * mostBlocks(request.collective, ranks);
}

PlanSettings PlanSettings::of(const Config& config) {
  return {config.reproducible, config.channels, config.algorithms, config.tuning};
}

std::uint64_t Plan::geometryHash() const {
  // Knuth's multiplicative hash (TAOCP 3, 6.4): the golden ratio in 64 bits.
  constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15ULL;
  std::uint64_t stages = 0;
  for (const std::uint64_t part :
       {std::uint64_t{twoLevel.pieceElems}, std::uint64_t{twoLevel.insideChunk},
        std::uint64_t{twoLevel.betweenChunk}, static_cast<std::uint64_t>(twoLevel.between)}) {
    stages = (stages ^ part) * kGoldenRatio;
  }
  const std::uint64_t ofStages = isTwoLevel(algorithm) ? stages : 0;
  return ofStages ^
         (static_cast<std::uint64_t>(algorithm) | static_cast<std::uint64_t>(channels) << 8 |
          static_cast<std::uint64_t>(protocol) << 16 |
          static_cast<std::uint64_t>(throughMailboxes) << 23 |
          static_cast<std::uint64_t>(chunkElems) << 24);
}

PlanFacts planFacts(int ranks, int cpus, const Config& config) {
  PlanFacts facts;
  facts.ranks = ranks;
  facts.cpus = cpus;
  facts.slotBytes =
      config.chunkBytes > 0 ? config.chunkBytes : defaultSlotBytes(ranks, config.slotMemoryBytes);
  facts.slotCount = config.slotsPerConnection > 0
                        ? static_cast<std::uint32_t>(config.slotsPerConnection)
                        : kDefaultSlots;
  return facts;
}

int workersBySettings(const PlanFacts& facts, const Config& config) {
  const int wished = config.workers > 0 ? config.workers : config.mostWorkers;
  if (config.slotMemoryBytes == 0 || facts.ranks < 2) return wished;
  const std::size_t ofChannel = 2 * static_cast<std::size_t>(facts.ranks - 1) *
                                connectionBytes({facts.slotBytes, facts.slotCount});
  const std::size_t channels = config.slotMemoryBytes / 4 / ofChannel;
  return static_cast<int>(std::clamp<std::size_t>(channels, 1, static_cast<std::size_t>(wished)));
}

std::vector<Candidate> planCandidates(const PlanRequest& request,
                                      const PlanFacts& facts,
                                      const PlanSettings& settings) {
  std::vector<Candidate> candidates;
  for (std::size_t row = 0; row < kAllAlgorithmCount; ++row) {
    const AlgorithmId id = algorithmAt(row);
    if (algorithmInfo(id).collective != request.collective) continue;
    candidates.push_back(consider(id, request, facts, settings));
  }
  narrow(candidates, request, ruleFor(request, facts, settings));
  return candidates;
}

Result<Plan> makePlan(const PlanRequest& request,
                      const PlanFacts& facts,
                      const PlanSettings& settings) {
  const std::vector<Candidate> candidates = planCandidates(request, facts, settings);
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    if (!candidate.eligible) continue;
    if (best == nullptr || isFaster(candidate.plan, best->plan)) best = &candidate;
  }
  const PlanRule* const rule = ruleFor(request, facts, settings);
  if (best == nullptr) return noCandidate(candidates, request, rule);
  Plan plan = best->plan;
  plan.throughMailboxes = goesThroughMailboxes(request, facts, rule);
  return sharedByWorkers(plan, request, facts, settings);
}

ScheduleArgs scheduleArgs(
    const Plan& plan, const PlanRequest& request, int ranks, int rank, int channel) {
  ScheduleArgs args;
  args.rank = rank;
  args.ranks = ranks;
  args.root = request.root;
  args.channel = channel;
  args.layout = args.outputLayout = Layout(request.count);
  args.share = evenShare(request.count, static_cast<std::size_t>(plan.channels),
                         static_cast<std::size_t>(channel), plan.grain);
  args.chunkElems = plan.chunkElems;
  args.grain = plan.grain;
  return args;
}

TwoLevel twoLevelOf(const Plan& plan,
                    const PlanRequest& request,
                    const PlanFacts& facts,
                    int rank) {
  return {request.collective, facts.hosts, rank, request.count, plan.twoLevel};
}

}  // namespace rondo
