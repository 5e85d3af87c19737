#include "tests/schedule/mutants.h"

#include <algorithm>
#include <utility>

#include "collectives/patterns/lagged_phases.h"

namespace rondo::verifier {
namespace {

/// A call of several loops with the share in the middle of the buffer.
Call callOf(Collective collective, std::string_view name) {
  Call call;
  call.algorithm = findAlgorithm(collective, name).value();
  call.root = hasRoot(collective) ? 1 : 0;
  call.chunkElems = 4;
  call.share = {3, 67};
  call.bufferElems = 75;
  return call;
}

Call inPlace(Call call) {
  call.inPlace = true;
  return call;
}

Call singleLoop(Call call) {
  call.share.elems = call.chunkElems;
  return call;
}

const Call kRing = callOf(Collective::kAllReduce, "ring");
const Call kOneShot = callOf(Collective::kAllReduce, "one_shot");
const Call kTwoShot = callOf(Collective::kAllReduce, "two_shot");
const Call kTree = callOf(Collective::kAllReduce, "tree");
const Call kChain = callOf(Collective::kAllReduce, "chain");
const Call kScatterLog = callOf(Collective::kReduceScatter, "log_tree");
const Call kGatherLog = callOf(Collective::kAllGather, "log_tree");
const Call kGatherRing = callOf(Collective::kAllGather, "ring");
const Call kBroadcast = callOf(Collective::kBroadcast, "chain");
const Call kReduce = callOf(Collective::kReduce, "tree");
const Call kBarrier = callOf(Collective::kBarrier, "dissemination");

/// Changes every step of every rank.
Edit everyStep(std::function<void(Step&)> change) {
  return [=](RecordedSchedule& schedule, const ScheduleArgs&) {
    for (Step& step : schedule.steps)
      change(step);
  };
}

/// Makes `edit` on one rank only.
Edit onRank(int rank, Edit edit) {
  return [=](RecordedSchedule& schedule, const ScheduleArgs& args) {
    if (args.rank == rank) edit(schedule, args);
  };
}

/// Makes the schedule of changed arguments instead.
Edit withArgs(AlgorithmId algorithm, std::function<void(ScheduleArgs&)> change) {
  return [=](RecordedSchedule& schedule, const ScheduleArgs& args) {
    ScheduleArgs changed = args;
    change(changed);
    schedule = RecordedSchedule(*makeSchedule(algorithm, changed));
  };
}

Edit swapSteps(std::size_t a, std::size_t b) {
  return [=](RecordedSchedule& schedule, const ScheduleArgs&) {
    std::swap(schedule.steps[a], schedule.steps[b]);
  };
}

/// Runs the second phase of a tree or chain `extra` loops later than it should.
Edit moreLag(std::size_t extra) {
  return [=](RecordedSchedule& schedule, const ScheduleArgs&) {
    std::vector<Step>& steps = schedule.steps;
    const auto isUp = [](const Step& step) { return step.own != Source::kNone; };
    const auto firstDown = std::find_if_not(steps.begin(), steps.end(), isUp);
    const auto lag = static_cast<std::size_t>(firstDown - steps.begin());
    const auto middle = std::stable_partition(steps.begin(), steps.end(), isUp);
    if (middle == steps.end()) return;  // the root has one phase only
    const auto loops = static_cast<std::size_t>(middle - steps.begin());
    const std::vector<Step> sorted = steps;
    const LaggedPhases phases(loops, lag + extra, 1, 1);
    for (std::size_t index = 0; index < phases.size(); ++index) {
      const LaggedPhases::Position at = phases.at(index);
      steps[index] = sorted[at.loop + (at.second ? loops : 0)];
    }
  };
}

Mutant executorMutant(std::string name,
                      std::string bug,
                      const Call& call,
                      ExecutorFault fault,
                      std::vector<Failure> expected,
                      std::vector<std::size_t> slots) {
  Mutant mutant{std::move(name), std::move(bug), call, std::move(expected), std::move(slots)};
  mutant.fault = fault;
  mutant.order = 1;  // in turn, ranks happen to keep out of each other's way
  return mutant;
}

Mutant scheduleMutant(std::string name,
                      std::string bug,
                      const Call& call,
                      std::vector<Failure> expected,
                      Edit edit,
                      std::vector<std::size_t> slots = {2, 8}) {
  Mutant mutant{std::move(name), std::move(bug), call, std::move(expected), std::move(slots)};
  mutant.edit = std::move(edit);
  return mutant;
}

void addExecutorMutants(std::vector<Mutant>& all) {
  all.push_back(executorMutant("missing_ack", "the receiver never moves its head counter", kRing,
                               ExecutorFault::kNeverRelease,
                               {Failure::kDeadlock, Failure::kMixedElements}, {2, 8}));
  all.push_back(executorMutant(
      "missing_ack_of_a_short_call", "the same, noticed by nobody before the next call",
      singleLoop(kBroadcast), ExecutorFault::kNeverRelease, {Failure::kLeftoverSlots}, {2, 8}));
  all.push_back(executorMutant(
      "ack_before_read", "the head counter is stored before the slot was read", kBroadcast,
      ExecutorFault::kReleaseBeforeRead, {Failure::kSlotOverwritten}, {1}));
  all.push_back(executorMutant(
      "post_before_write", "the tail counter is stored before the data: a missing sfence",
      kBroadcast, ExecutorFault::kPostBeforeWrite, {Failure::kSlotMissing}, {1, 2, 8}));
  all.push_back(executorMutant("does_not_wait_for_data",
                               "the step does not look at the tail counter", kGatherRing,
                               ExecutorFault::kIgnoreFullSlots, {Failure::kSlotMissing}, {2, 8}));
  all.push_back(executorMutant("does_not_wait_for_credit",
                               "the step does not look at the head counter", kTree,
                               ExecutorFault::kIgnoreFreeSlots, {Failure::kSlotOverrun}, {1}));
  all.push_back(executorMutant("own_first", "the combine loop takes the own contribution first",
                               kOneShot, ExecutorFault::kOwnFirst, {Failure::kWrongOrder}, {2, 8}));
  all.push_back(executorMutant("rounds_wide_sums",
                               "partial sums are rounded although the wire is wide", kChain,
                               ExecutorFault::kRoundSums, {Failure::kWrongOrder}, {1, 2, 8}));
}

/// Of an executor that leaves payloads in buffers, seen by a rank that reads as late as it can.
Mutant payloadMutant(
    std::string name, std::string bug, const Call& call, ExecutorFault fault, Failure expected) {
  Mutant mutant{std::move(name), std::move(bug), call, {expected}, {2, 8}};
  mutant.fault = fault;
  mutant.leavesPayloads = true;
  mutant.laziest = 2;
  return mutant;
}

void addPayloadMutants(std::vector<Mutant>& all) {
  all.push_back(payloadMutant(
      "payload_stored_over", "in place, input that was sent is left where results are stored",
      inPlace(kOneShot), ExecutorFault::kTakeInputForStable, Failure::kPayloadChanged));
  all.push_back(payloadMutant("returns_before_read",
                              "the sender returns when its steps are done: its program may change "
                              "the buffer that others still read",
                              singleLoop(kBroadcast), ExecutorFault::kReturnBeforeRead,
                              Failure::kPayloadGone));
  all.push_back(payloadMutant("returns_before_result_is_read",
                              "the same of a result that others are to collect", kTwoShot,
                              ExecutorFault::kReturnBeforeRead, Failure::kPayloadGone));
}

void addOrderMutants(std::vector<Mutant>& all) {
  all.push_back(scheduleMutant("swapped_steps", "two turns of the ring exchanged on one rank",
                               kRing, {Failure::kMixedElements}, onRank(1, swapSteps(1, 2))));
  all.push_back(scheduleMutant("dropped_last_step", "the loop over the steps ends one too early",
                               kTwoShot, {Failure::kMissingOutput},
                               onRank(2, [](RecordedSchedule& schedule, const ScheduleArgs&) {
                                 schedule.steps.pop_back();
                               })));
  all.push_back(scheduleMutant("dropped_send", "a rank forgets to pass one chunk on", kBroadcast,
                               {Failure::kCost},
                               onRank(2, [](RecordedSchedule& schedule, const ScheduleArgs&) {
                                 schedule.steps[1].send = {};
                               })));
  all.push_back(scheduleMutant("repeated_step", "a step runs again after it was interrupted",
                               kBroadcast, {Failure::kDoubleWrite},
                               onRank(1, [](RecordedSchedule& schedule, const ScheduleArgs&) {
                                 schedule.steps.insert(schedule.steps.begin(), schedule.steps[0]);
                               })));
  all.push_back(scheduleMutant("all_ups_first",
                               "no pipelining: all sums rise before the first result falls", kTree,
                               {Failure::kDeadlock}, moreLag(1000), {1, 2, 8}));
  all.push_back(scheduleMutant("tree_lag_plus_1",
                               "lag 2d instead of 2d - 1: one slot too many in flight", kTree,
                               {Failure::kDeadlock}, moreLag(1), {1}));
  all.push_back(scheduleMutant("tree_lag_plus_3", "a lag that does not fit the slots", kTree,
                               {Failure::kDeadlock}, moreLag(3), {1, 2}));
  all.push_back(scheduleMutant("chain_lag_plus_1", "the same in the rank-order chain", kChain,
                               {Failure::kDeadlock}, moreLag(1), {1}));
  all.push_back(scheduleMutant(
      "overwrites_before_sending", "in place, the result is stored before the input was sent",
      inPlace(singleLoop(kOneShot)), {Failure::kInputOverwritten}, onRank(0, swapSteps(0, 1))));
  all.push_back(scheduleMutant("barrier_one_round_short", "floor instead of ceil of log2(n)",
                               kBarrier, {Failure::kBarrierPassed},
                               [](RecordedSchedule& schedule, const ScheduleArgs&) {
                                 schedule.steps.pop_back();
                                 schedule.steps.back().send = {};
                                 schedule.recvTable.pop_back();
                                 schedule.sendTable.pop_back();
                               }));
}

void addPlaceMutants(std::vector<Mutant>& all) {
  all.push_back(scheduleMutant("wrong_chunk", "one turn adds the chunk of the turn before", kRing,
                               {Failure::kMixedElements},
                               onRank(2, [](RecordedSchedule& schedule, const ScheduleArgs&) {
                                 schedule.steps[2].inputOffset = schedule.steps[1].inputOffset;
                               })));
  all.push_back(scheduleMutant(
      "share_offset_ignored", "every channel works from the start of the buffer", kOneShot,
      {Failure::kOutsideShare},
      withArgs(kOneShot.algorithm, [](ScheduleArgs& args) { args.share.offset = 0; })));
  all.push_back(scheduleMutant(
      "last_block_shifted", "blocks are laid out one element too far apart", kGatherRing,
      {Failure::kOutsideShare, Failure::kOutOfRange},
      withArgs(kGatherRing.algorithm, [](ScheduleArgs& args) { args.layout = Layout(76); })));
  all.push_back(scheduleMutant("reads_next_element", "offset by one inside the share", kTwoShot,
                               {Failure::kMixedElements},
                               onRank(3, [](RecordedSchedule& schedule, const ScheduleArgs&) {
                                 ++schedule.steps[0].inputOffset;
                               })));
  all.push_back(scheduleMutant("stores_next_element",
                               "the root stores one element further than it reads, in place",
                               inPlace(kBroadcast), {Failure::kInPlaceOverlap},
                               onRank(1, [](RecordedSchedule& schedule, const ScheduleArgs&) {
                                 ++schedule.steps[0].outputOffset;
                               })));
  all.push_back(scheduleMutant("reads_output_for_input",
                               "confuses the buffers; goes unnoticed in place", kOneShot,
                               {Failure::kUnwrittenRead}, everyStep([](Step& step) {
                                 if (step.own == Source::kInput) step.own = Source::kOutput;
                               })));
  all.push_back(scheduleMutant(
      "one_scratch_row", "all partial sums wait in the same scratch row", kScatterLog,
      {Failure::kMixedElements, Failure::kInPlaceOverlap},
      everyStep([](Step& step) { step.scratchOffset = step.rows.scratchStride = 0; })));
  all.push_back(scheduleMutant(
      "scratch_too_small", "scratch without the row of place n-1", kScatterLog,
      {Failure::kOutOfRange},
      [](RecordedSchedule& schedule, const ScheduleArgs&) { schedule.scratch -= 1; }));
  all.push_back(scheduleMutant("row_stride_plus_1", "rows lie one element too far apart",
                               kScatterLog, {Failure::kMixedElements, Failure::kOutsideShare},
                               everyStep([](Step& step) { ++step.rows.userStride; })));
  all.push_back(scheduleMutant(
      "rows_do_not_wrap", "rows beyond the last block are not taken from the first", kGatherLog,
      {Failure::kOutOfRange}, everyStep([](Step& step) { step.rows.userWrap = 0; })));
  all.push_back(
      scheduleMutant("chunk_beyond_slot", "slots are allocated for half of what a step sends",
                     kTree, {Failure::kSlotTooLarge},
                     withArgs(kTree.algorithm, [](ScheduleArgs& args) { args.chunkElems *= 2; })));
  all.push_back(scheduleMutant(
      "ranks_disagree_on_chunks", "one rank plans with another chunk size", kTree,
      {Failure::kSlotLength},
      onRank(1, withArgs(kTree.algorithm, [](ScheduleArgs& args) { args.chunkElems = 3; }))));
}

void addPeerMutants(std::vector<Mutant>& all) {
  all.push_back(scheduleMutant("wrong_send_entry", "a part goes to the owner of another one",
                               kTwoShot, {Failure::kMixedElements},
                               onRank(0, [](RecordedSchedule& schedule, const ScheduleArgs&) {
                                 std::swap(schedule.steps[0].send, schedule.steps[1].send);
                               })));
  all.push_back(scheduleMutant("entry_beyond_table", "peers counted with the own rank among them",
                               kOneShot, {Failure::kPeerRange}, everyStep([](Step& step) {
                                 if (step.recv.count > 0) ++step.recv.count;
                               })));
  all.push_back(scheduleMutant("peer_left_out", "the range of peers ends one too early", kOneShot,
                               {Failure::kLastOnPartial}, onRank(0, everyStep([](Step& step) {
                                                                   if (step.recv.count > 0)
                                                                     --step.recv.count;
                                                                 }))));
  all.push_back(scheduleMutant("unused_peer", "a connection is made that no step uses", kBroadcast,
                               {Failure::kUnusedPeer},
                               [](RecordedSchedule& schedule, const ScheduleArgs& args) {
                                 if (args.rank == 1) schedule.sendTable.push_back(3);
                                 if (args.rank == 3) schedule.recvTable.push_back(1);
                               }));
  all.push_back(
      scheduleMutant("wrong_root", "all ranks take another root than the caller named", kBroadcast,
                     {Failure::kForbiddenBuffer},
                     withArgs(kBroadcast.algorithm, [](ScheduleArgs& args) { args.root = 2; })));
  all.push_back(scheduleMutant(
      "wrong_root_on_one_rank", "one rank takes another root", kBroadcast,
      {Failure::kTablesDisagree},
      onRank(4, withArgs(kBroadcast.algorithm, [](ScheduleArgs& args) { args.root = 0; }))));
  all.push_back(scheduleMutant(
      "ring_reversed_on_one_rank", "one rank takes its neighbours the other way round", kRing,
      {Failure::kTablesDisagree}, onRank(3, [](RecordedSchedule& schedule, const ScheduleArgs&) {
        std::swap(schedule.recvTable, schedule.sendTable);
      })));
  all.push_back(scheduleMutant("ring_reversed", "connections run against the order of the chunks",
                               kRing, {Failure::kMixedElements},
                               [](RecordedSchedule& schedule, const ScheduleArgs&) {
                                 std::swap(schedule.recvTable, schedule.sendTable);
                               }));
}

void addArithmeticMutants(std::vector<Mutant>& all) {
  all.push_back(scheduleMutant("own_contribution_skipped", "one rank only passes on", kRing,
                               {Failure::kLastOnPartial},
                               onRank(1, [](RecordedSchedule& schedule, const ScheduleArgs&) {
                                 schedule.steps[1].own = Source::kNone;
                                 schedule.steps[1].ownPosition = 0;
                               })));
  all.push_back(scheduleMutant("adds_in_both_laps", "the second lap of the ring goes on adding",
                               kRing, {Failure::kCountedTwice}, everyStep([](Step& step) {
                                 step.own = Source::kInput;
                                 step.last = false;
                               })));
  all.push_back(scheduleMutant("last_missing", "an average is never divided", kTree,
                               {Failure::kLastMissing},
                               everyStep([](Step& step) { step.last = false; })));
  all.push_back(scheduleMutant("last_twice",
                               "divided where the result is complete, and where it is stored",
                               kTree, {Failure::kLastRepeated}, everyStep([](Step& step) {
                                 if (step.to == Sink::kOutput) step.last = true;
                               })));
  all.push_back(scheduleMutant("last_at_every_hop", "partial sums are divided too", kChain,
                               {Failure::kLastOnPartial}, everyStep([](Step& step) {
                                 if (step.own == Source::kInput) step.last = true;
                               })));
  all.push_back(scheduleMutant("own_position", "one rank adds its contribution out of rank order",
                               kTwoShot, {Failure::kWrongOrder},
                               onRank(3, everyStep([](Step& step) {
                                        if (step.ownPosition > 0) --step.ownPosition;
                                      }))));
  all.push_back(scheduleMutant(
      "own_position_beyond_sources", "the own contribution is never reached", kReduce,
      {Failure::kOwnPosition}, everyStep([](Step& step) { step.ownPosition = 3; })));
  all.push_back(
      scheduleMutant("wide_read_as_native", "a sum of 32 bits is read as elements of 16", kChain,
                     {Failure::kWireMismatch},
                     onRank(2, everyStep([](Step& step) { step.recvWire = Wire::kNative; }))));
  all.push_back(scheduleMutant("rounded_on_the_way", "both ends of the chain use the narrow wire",
                               kChain, {Failure::kWrongOrder}, everyStep([](Step& step) {
                                 step.recvWire = step.sendWire = Wire::kNative;
                               })));
  all.push_back(scheduleMutant("non_root_stores", "a rank without an output stores its partial sum",
                               kReduce, {Failure::kForbiddenBuffer},
                               everyStep([](Step& step) { step.to = Sink::kOutput; })));
  all.push_back(scheduleMutant("move_that_adds", "a broadcast adds what it should replace",
                               kBroadcast, {Failure::kFoldInMove},
                               everyStep([](Step& step) { step.own = Source::kInput; })));
  all.push_back(scheduleMutant("nothing_to_store",
                               "a step without sources stores what is left in the registers",
                               kOneShot, {Failure::kNoSource}, everyStep([](Step& step) {
                                 if (step.recv.count == 0) step.own = Source::kNone;
                               })));
  all.push_back(scheduleMutant(
      "wrong_cost", "the planner prices one element too many", kScatterLog, {Failure::kCost},
      [](RecordedSchedule& schedule, const ScheduleArgs&) { ++schedule.total.elemsSent; }));
  all.push_back(scheduleMutant(
      "wrong_hops", "the planner prices one hop too few", singleLoop(kTwoShot), {Failure::kCost},
      [](RecordedSchedule& schedule, const ScheduleArgs&) { --schedule.total.hops; }));
}

}  // namespace

std::vector<Mutant> allMutants() {
  std::vector<Mutant> all;
  addExecutorMutants(all);
  addPayloadMutants(all);
  addOrderMutants(all);
  addPlaceMutants(all);
  addPeerMutants(all);
  addArithmeticMutants(all);
  return all;
}

}  // namespace rondo::verifier
