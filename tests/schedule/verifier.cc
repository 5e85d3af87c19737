#include "tests/schedule/verifier.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "tests/schedule/connections.h"
#include "tests/schedule/expected_results.h"
#include "tests/schedule/peer_tables.h"
#include "tests/schedule/step_executor.h"

namespace rondo::verifier {
namespace {

/// What is known of one call while ranks run it.
struct CallProgress {
  CallProgress(const Call& call, std::size_t index, int ranks) : expected(call, index, ranks) {}

  ExpectedResults expected;
  int ranksDone = 0;
  std::size_t hops = 0;         ///< most connections that an output crossed
  std::size_t waves = 0;        ///< most connections on a chain of steps, each waiting for the last
  std::size_t claimedHops = 0;  ///< by the ranks that are done
};

/// One run of a sequence of calls.
class Run {
 public:
  Run(const Setup& setup, std::span<const Call> calls)
      : setup_(setup),
        calls_(calls),
        connections_(setup.ranks, setup.slots),
        executor_(setup, connections_),
        ranks_(static_cast<std::size_t>(setup.ranks)),
        random_(setup.order) {
    for (std::size_t index = 0; index < calls.size(); ++index)
      progress_.emplace_back(calls[index], index, setup.ranks);
  }

  Report run() {
    if (start() && runAll()) checkLeftovers();
    report_.steps = executor_.steps();
    return std::move(report_);
  }

 private:
  template <class... Parts>
  bool fail(Failure kind, const RankState& at, const Parts&... cause) {
    report_.violation = {kind, at.rank, at.callIndex, at.index, joined(cause...)};
    return false;
  }

  bool failedStep() {
    report_.violation = executor_.violation();
    return false;
  }

  bool start();
  bool runAll();
  bool runRound(bool& moved);
  bool runRank(RankState& state, std::size_t burst, bool& moved);
  bool enter(RankState& state, std::size_t callIndex);
  bool leave(RankState& state);
  bool leaveFinished(RankState& state);
  bool checkPeersUsed(const RankState& state);
  bool checkOutputs(const RankState& state);
  bool checkOutput(const RankState& state, std::size_t at);
  bool checkCost(const RankState& state);
  bool checkHops(const RankState& state);
  bool singleLoop(const RankState& state) const;
  bool reportDeadlock();
  void checkLeftovers();

  bool finished(const RankState& state) const { return state.callIndex == calls_.size(); }

  const Setup& setup_;
  std::span<const Call> calls_;
  Connections connections_;
  StepExecutor executor_;
  std::vector<RankState> ranks_;
  std::vector<CallProgress> progress_;
  std::mt19937_64 random_;
  Report report_;
};

bool Run::start() {
  for (std::size_t index = 0; index < calls_.size(); ++index) {
    if (!progress_[index].expected.known()) {
      report_.violation = {Failure::kNoExpectation, 0, index, 0, calls_[index].text()};
      return false;
    }
    report_.violation = checkPeerTables(setup_, calls_[index], index);
    if (report_.violation) return false;
  }
  for (int rank = 0; rank < setup_.ranks; ++rank) {
    RankState& state = ranks_[static_cast<std::size_t>(rank)];
    state.rank = rank;
    if (!enter(state, 0) || !leaveFinished(state)) return false;
  }
  return true;
}

bool Run::runAll() {
  bool moved = true;
  while (moved) {
    moved = false;
    if (!runRound(moved)) return false;
  }
  return reportDeadlock();
}

/// Lets every rank run: one step each in turn, or random numbers of steps in a random order.
bool Run::runRound(bool& moved) {
  std::vector<std::size_t> order(ranks_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (setup_.order != 0) std::shuffle(order.begin(), order.end(), random_);
  for (const std::size_t rank : order) {
    if (static_cast<int>(rank) == setup_.laziest) continue;
    const std::size_t burst = setup_.order == 0 ? 1 : std::size_t{1} << random_() % 8;
    if (!runRank(ranks_[rank], burst, moved)) return false;
  }
  if (moved || setup_.laziest < 0) return true;
  return runRank(ranks_[static_cast<std::size_t>(setup_.laziest)], 1, moved);
}

bool Run::runRank(RankState& state, std::size_t burst, bool& moved) {
  for (std::size_t i = 0; i < burst && !finished(state); ++i) {
    if (state.index == state.size) {  // but what it has sent may be read still
      const std::size_t call = state.callIndex;
      if (!leaveFinished(state)) return false;
      if (state.callIndex == call) return true;
      moved = true;
      continue;
    }
    const Progress progress = executor_.tryStep(state);
    if (progress == Progress::kFailed) return failedStep();
    if (progress == Progress::kBlocked) return true;
    moved = true;
    if (!leaveFinished(state)) return false;
  }
  return true;
}

bool Run::enter(RankState& state, std::size_t callIndex) {
  state.callIndex = callIndex;
  state.index = 0;
  if (finished(state)) return true;
  const Call& call = calls_[callIndex];
  state.call = &call;
  state.schedule = setup_.make(call.algorithm, call.args(state.rank, setup_.ranks));
  state.size = state.schedule->size();
  state.memory = std::make_shared<RankMemory>(call, callIndex, state.rank, setup_.ranks,
                                              state.schedule->scratchElems());
  state.counted = Cost{};
  state.arrived = RankSet{};
  state.waves = 0;
  state.recvEnds.clear();
  state.sendEnds.clear();
  for (int entry = 0; entry < state.schedule->recvPeers(); ++entry)
    state.recvEnds.push_back(&connections_.between(state.schedule->recvPeer(entry), state.rank));
  for (int entry = 0; entry < state.schedule->sendPeers(); ++entry)
    state.sendEnds.push_back(&connections_.between(state.rank, state.schedule->sendPeer(entry)));
  state.recvUsed.assign(state.recvEnds.size(), false);
  state.sendUsed.assign(state.sendEnds.size(), false);
  state.leftUpTo.assign(state.sendEnds.size(), 0);
  return executor_.load(state) || failedStep();
}

/// Leaves every call that has no step left, and enters the next one.
bool Run::leaveFinished(RankState& state) {
  while (!finished(state) && state.index == state.size) {
    const bool returnsAtOnce = setup_.fault == ExecutorFault::kReturnBeforeRead;
    if (!returnsAtOnce && !StepExecutor::settled(state)) return true;
    if (!leave(state) || !enter(state, state.callIndex + 1)) return false;
  }
  return true;
}

bool Run::leave(RankState& state) {
  return checkPeersUsed(state) && checkOutputs(state) && checkCost(state) && checkHops(state);
}

bool Run::checkPeersUsed(const RankState& state) {
  const bool barrier = state.call->collective() == Collective::kBarrier;
  if (state.call->share.elems == 0 && !barrier) return true;
  for (std::size_t entry = 0; entry < state.recvUsed.size(); ++entry) {
    if (!state.recvUsed[entry]) return fail(Failure::kUnusedPeer, state, "receive entry ", entry);
  }
  for (std::size_t entry = 0; entry < state.sendUsed.size(); ++entry) {
    if (!state.sendUsed[entry]) return fail(Failure::kUnusedPeer, state, "send entry ", entry);
  }
  return true;
}

bool Run::checkOutputs(const RankState& state) {
  const Call& call = *state.call;
  if (call.collective() == Collective::kBarrier && setup_.ranks > 1) {
    if (state.arrived != RankSet::all(setup_.ranks)) {
      return fail(Failure::kBarrierPassed, state, "left before everyone had entered");
    }
  }
  for (std::size_t block = 0; block < state.memory->outputElems(); block += call.bufferElems) {
    for (std::size_t i = 0; i < call.share.elems; ++i) {
      if (!checkOutput(state, block + call.share.offset + i)) return false;
    }
  }
  return true;
}

bool Run::checkOutput(const RankState& state, std::size_t at) {
  CallProgress& progress = progress_[state.callIndex];
  ExpectedResults& expected = progress.expected;
  const Value* const value = state.memory->output(at);
  if (value == nullptr) return fail(Failure::kMissingOutput, state, "element ", at);
  if (value->element != expected.element(state.rank, at)) {
    return fail(Failure::kWrongElement, state, "element ", at, " holds element ", value->element);
  }
  if (value->contributors != expected.contributors(at)) {
    return fail(Failure::kIncomplete, state, "element ", at);
  }
  if (isReduction(state.call->collective()) && !value->complete) {
    return fail(Failure::kLastMissing, state, "element ", at);
  }
  if (value->expression != expected.expression(state.rank, at)) {
    return fail(Failure::kWrongOrder, state, "element ", at);
  }
  progress.hops = std::max<std::size_t>(progress.hops, value->hops);
  ++report_.outputs;
  return true;
}

bool Run::checkCost(const RankState& state) {
  const Cost claimed = state.schedule->cost();
  Cost counted = state.counted;
  counted.hops = claimed.hops;  // checked when all ranks are done
  if (counted == claimed) return true;
  const auto text = [](const Cost& cost) {
    return joined("steps ", cost.steps, " slots ", cost.slotsSent, " elems ", cost.elemsSent,
                  " wide elems ", cost.wideElemsSent, " added ", cost.elemsAdded);
  };
  return fail(Failure::kCost, state, "counted ", text(counted), ", claimed ", text(claimed));
}

/// In a single loop the longest chain of steps that wait for each other must be as long as claimed;
/// more loops wait for one another. No element crosses more connections than that.
bool Run::checkHops(const RankState& state) {
  CallProgress& progress = progress_[state.callIndex];
  const std::size_t claimed = state.schedule->cost().hops;
  if (progress.ranksDone > 0 && claimed != progress.claimedHops) {
    return fail(Failure::kCost, state, "hops ", claimed, ", another rank ", progress.claimedHops);
  }
  progress.claimedHops = claimed;
  progress.waves = std::max<std::size_t>(progress.waves, state.waves);
  if (++progress.ranksDone < setup_.ranks) return true;
  if (progress.hops > claimed) {
    return fail(Failure::kCost, state, "an element crossed ", progress.hops, " of ", claimed);
  }
  const bool fits = progress.waves == claimed || !singleLoop(state);
  return fits || fail(Failure::kCost, state, "hops ", progress.waves, ", claimed ", claimed);
}

/// True if the schedule is as long as that of a single element.
bool Run::singleLoop(const RankState& state) const {
  if (state.call->collective() == Collective::kBarrier) return true;
  ScheduleArgs args = state.call->args(state.rank, setup_.ranks);
  args.share.elems = 1;
  return state.size == setup_.make(state.call->algorithm, args)->size();
}

/// True if all ranks are finished.
bool Run::reportDeadlock() {
  const RankState* first = nullptr;
  std::string stuck;
  for (const RankState& state : ranks_) {
    if (finished(state)) continue;
    if (first == nullptr) first = &state;
    stuck += (stuck.empty() ? "" : "; ") + executor_.waitsFor(state);
  }
  return first == nullptr || fail(Failure::kDeadlock, *first, stuck);
}

void Run::checkLeftovers() {
  for (int from = 0; from < setup_.ranks; ++from) {
    for (int to = 0; to < setup_.ranks; ++to) {
      const std::uint64_t slots = connections_.between(from, to).leftover();
      if (slots == 0) continue;
      const std::string cause = joined(slots, " full slots from ", from, " to ", to);
      report_.violation = {Failure::kLeftoverSlots, to, calls_.size(), 0, cause};
      return;
    }
  }
}

}  // namespace

Report verify(const Setup& setup, std::span<const Call> calls) {
  return Run(setup, calls).run();
}

}  // namespace rondo::verifier
