#include "tests/schedule/two_level_run.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <utility>

#include "tests/schedule/connections.h"
#include "tests/schedule/step_executor.h"

namespace rondo::verifier {

namespace {

constexpr int kChannels = 2;

/// All runs of one stage of one rank, one behind the other.
class StageSchedule final : public AnySchedule {
 public:
  StageSchedule(const TwoLevel& operation, int stage, const TwoLevelSetup& setup)
      : members_(operation.members(stage).begin(), operation.members(stage).end()) {
    if (setup.editMembers) setup.editMembers(stage, members_);
    for (std::size_t index = 0; index < operation.runs(stage); ++index) {
      StageRun run = operation.run(stage, index);
      if (setup.editRun) setup.editRun(operation, stage, run);
      append(*makeSchedule(run.algorithm, run.args), run.place);
    }
  }

  std::size_t size() const override { return steps_.size(); }

  Step step(std::size_t index) const override { return steps_[index]; }

  int recvPeers() const override { return static_cast<int>(recvTable_.size()); }

  int recvPeer(int entry) const override { return recvTable_[static_cast<std::size_t>(entry)]; }

  int sendPeers() const override { return static_cast<int>(sendTable_.size()); }

  int sendPeer(int entry) const override { return sendTable_[static_cast<std::size_t>(entry)]; }

  std::size_t scratchElems() const override { return 0; }

  Cost cost() const override { return {}; }

  /// Where run `index` ends.
  std::size_t endOf(std::size_t index) const { return ends_[index]; }

  std::size_t runs() const { return ends_.size(); }

 private:
  void append(const AnySchedule& schedule, const StepPlace& place) {
    recvTable_.clear();
    sendTable_.clear();
    for (int entry = 0; entry < schedule.recvPeers(); ++entry)
      recvTable_.push_back(rankOf(schedule.recvPeer(entry)));
    for (int entry = 0; entry < schedule.sendPeers(); ++entry)
      sendTable_.push_back(rankOf(schedule.sendPeer(entry)));
    for (std::size_t index = 0; index < schedule.size(); ++index)
      steps_.push_back(place.placed(schedule.step(index)));
    ends_.push_back(steps_.size());
  }

  int rankOf(int member) const { return members_[static_cast<std::size_t>(member)]; }

  std::vector<int> members_;
  std::vector<int> recvTable_;
  std::vector<int> sendTable_;
  std::vector<Step> steps_;
  std::vector<std::size_t> ends_;
};

/// One rank: its stages, and how many of their runs are complete.
struct StagedRank {
  std::optional<TwoLevel> operation;
  std::array<RankState, TwoLevel::kMostStages> stages;
  std::array<const StageSchedule*, TwoLevel::kMostStages> schedules{};
  std::array<std::size_t, TwoLevel::kMostStages> done{};
};

/// What must come out, by what the head of collectives/two_level/two_level.h promises.
class Promise {
 public:
  Promise(const TwoLevelCall& call, const HostMap& hosts) : call_(call), hosts_(hosts) {}

  std::size_t elementOf(int rank, std::size_t at) const {
    if (call_.collective == Collective::kReduceScatter)
      return static_cast<std::size_t>(rank) * call_.count + at;
    return call_.collective == Collective::kAllGather ? at % call_.count : at;
  }

  RankSet contributors(std::size_t at) const {
    return isReduction(call_.collective) ? RankSet::all(hosts_.ranks()) : RankSet::of(owner(at));
  }

  Expression expression(int rank, std::size_t at) const {
    const std::size_t element = elementOf(rank, at);
    if (!isReduction(call_.collective)) return inputExpression(0, owner(at), element);
    Expression all = sumOfHost(0, element);
    for (int host = 1; host < hosts_.hosts(); ++host)
      all = sumExpression(all, sumOfHost(host, element));
    return roundExpression(lastExpression(all));
  }

 private:
  int owner(std::size_t at) const { return static_cast<int>(at / call_.count); }

  Expression sumOfHost(int host, std::size_t element) const {
    const auto members = hosts_.members(host);
    Expression sum = inputExpression(0, members.front(), element);
    for (const int rank : members.subspan(1))
      sum = sumExpression(sum, inputExpression(0, rank, element));
    return members.size() > 1 ? roundExpression(sum) : sum;
  }

  const TwoLevelCall& call_;
  const HostMap& hosts_;
};

class TwoLevelRun {
 public:
  TwoLevelRun(const TwoLevelCall& call, const TwoLevelSetup& setup)
      : call_(call),
        setup_(setup),
        hosts_(std::make_shared<const HostMap>(call.hosts)),
        ranks_(call.hosts.size()),
        random_(setup.order) {
    whole_.algorithm = *findAlgorithm(call.collective, "two_level");
    whole_.bufferElems = call.count;
    whole_.share = {0, call.count};
    whole_.chunkElems = std::max(call.geometry.insideChunk, call.geometry.betweenChunk);
    whole_.grain = call.geometry.grain;
    whole_.inPlace = call.inPlace;
    stepSetup_.ranks = hosts_->ranks();
    stepSetup_.slots = setup.slots;
    for (int channel = 0; channel < kChannels; ++channel)
      channels_.emplace_back(hosts_->ranks(), setup.slots);
    executor_.emplace(stepSetup_, channels_.front());
  }

  Report run() {
    if (start() && runAll() && checkOutputs()) checkLeftovers();
    report_.steps = executor_->steps();
    return std::move(report_);
  }

 private:
  template <class... Parts>
  bool fail(Failure kind, int rank, const Parts&... cause) {
    report_.violation = {kind, rank, 0, 0, joined(cause...)};
    return false;
  }

  bool failedStep() {
    report_.violation = executor_->violation();
    return false;
  }

  bool start() {
    for (int rank = 0; rank < hosts_->ranks(); ++rank) {
      StagedRank& own = ranks_[static_cast<std::size_t>(rank)];
      own.operation.emplace(call_.collective, hosts_, rank, call_.count, call_.geometry);
      const auto memory = std::make_shared<RankMemory>(whole_, 0, rank, hosts_->ranks(),
                                                       own.operation->scratchElems());
      for (int stage = 0; stage < own.operation->stages(); ++stage) {
        if (!bind(own, rank, stage, memory)) return false;
      }
    }
    return true;
  }

  bool bind(StagedRank& own, int rank, int stage, const std::shared_ptr<RankMemory>& memory) {
    constexpr std::size_t kMarks = std::size_t{1} << 28;
    const auto at = static_cast<std::size_t>(stage);
    auto schedule = std::make_unique<StageSchedule>(*own.operation, stage, setup_);
    own.schedules[at] = schedule.get();
    RankState& state = own.stages[at];
    state.rank = rank;
    state.call = &whole_;
    state.size = schedule->size();
    state.mark = at * kMarks;
    state.memory = memory;
    const int channel = setup_.oneChannel ? 0 : own.operation->channel(stage);
    Connections& connections = channels_[static_cast<std::size_t>(channel)];
    for (int entry = 0; entry < schedule->recvPeers(); ++entry)
      state.recvEnds.push_back(&connections.between(schedule->recvPeer(entry), rank));
    for (int entry = 0; entry < schedule->sendPeers(); ++entry)
      state.sendEnds.push_back(&connections.between(rank, schedule->sendPeer(entry)));
    state.recvUsed.assign(state.recvEnds.size(), false);
    state.sendUsed.assign(state.sendEnds.size(), false);
    state.schedule = std::move(schedule);
    return executor_->load(state) || failedStep();
  }

  bool runAll() {
    for (bool moved = true; moved;) {
      moved = false;
      if (!runRound(moved)) return false;
    }
    return checkFinished();
  }

  bool runRound(bool& moved) {
    std::vector<std::size_t> order(ranks_.size() * TwoLevel::kMostStages);
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (setup_.order != 0) std::shuffle(order.begin(), order.end(), random_);
    for (const std::size_t place : order) {
      StagedRank& rank = ranks_[place / TwoLevel::kMostStages];
      const std::size_t burst = setup_.order == 0 ? 1 : std::size_t{1} << random_() % 8;
      for (std::size_t i = 0; i < burst; ++i) {
        bool ran = false;
        if (!tryStage(rank, static_cast<int>(place % TwoLevel::kMostStages), ran)) return false;
        moved |= ran;
        if (!ran) break;
      }
    }
    return true;
  }

  /// False if something is wrong; `ran` says whether there was something to do.
  bool tryStage(StagedRank& rank, int stage, bool& ran) {
    const auto at = static_cast<std::size_t>(stage);
    if (stage >= rank.operation->stages() || rank.done[at] == rank.schedules[at]->runs())
      return true;
    RankState& state = rank.stages[at];
    const std::size_t begin = rank.done[at] == 0 ? 0 : rank.schedules[at]->endOf(rank.done[at] - 1);
    if (state.index == begin && !mayStart(rank, stage)) return true;
    if (state.index == rank.schedules[at]->endOf(rank.done[at])) {
      ++rank.done[at];
      ran = true;
      return true;
    }
    const Progress progress = executor_->tryStep(state);
    ran = progress == Progress::kRan;
    return progress != Progress::kFailed || failedStep();
  }

  bool mayStart(const StagedRank& rank, int stage) const {
    const std::size_t run = rank.done[static_cast<std::size_t>(stage)];
    const bool right = rank.operation->mayStart(stage, run, rank.done);
    return setup_.mayStart ? setup_.mayStart(*rank.operation, stage, run, right) : right;
  }

  bool checkFinished() {
    std::string stuck;
    for (const StagedRank& rank : ranks_) {
      for (int stage = 0; stage < rank.operation->stages(); ++stage) {
        const auto at = static_cast<std::size_t>(stage);
        if (rank.done[at] == rank.operation->runs(stage)) continue;
        stuck += joined(" stage ", stage, ": ", executor_->waitsFor(rank.stages[at]), ";");
      }
    }
    return stuck.empty() || fail(Failure::kDeadlock, 0, stuck);
  }

  bool checkOutputs() {
    const Promise promise(call_, *hosts_);
    for (int rank = 0; rank < hosts_->ranks(); ++rank) {
      const RankMemory& memory = *ranks_[static_cast<std::size_t>(rank)].stages.front().memory;
      for (std::size_t at = 0; at < memory.outputElems(); ++at, ++report_.outputs) {
        const Value* const value = memory.output(at);
        if (value == nullptr) return fail(Failure::kMissingOutput, rank, "element ", at);
        if (value->element != promise.elementOf(rank, at))
          return fail(Failure::kWrongElement, rank, "element ", at, " holds ", value->element);
        if (value->contributors != promise.contributors(at))
          return fail(Failure::kIncomplete, rank, "element ", at);
        if (isReduction(call_.collective) && !value->complete)
          return fail(Failure::kLastMissing, rank, "element ", at);
        if (value->expression != promise.expression(rank, at))
          return fail(Failure::kWrongOrder, rank, "element ", at);
      }
    }
    return true;
  }

  void checkLeftovers() {
    for (Connections& connections : channels_) {
      for (int pair = 0; pair < hosts_->ranks() * hosts_->ranks(); ++pair) {
        const int from = pair / hosts_->ranks();
        const int to = pair % hosts_->ranks();
        if (connections.between(from, to).leftover() == 0) continue;
        fail(Failure::kLeftoverSlots, to, "from ", from);
      }
    }
  }

  const TwoLevelCall& call_;
  const TwoLevelSetup& setup_;
  std::shared_ptr<const HostMap> hosts_;
  Call whole_;
  Setup stepSetup_;
  std::deque<Connections> channels_;
  std::optional<StepExecutor> executor_;
  std::vector<StagedRank> ranks_;
  std::mt19937_64 random_;
  Report report_;
};

}  // namespace

std::string TwoLevelCall::text() const {
  std::string text = joined(
      collectiveName(collective), " count ", count, " piece ", geometry.pieceElems, " chunks ",
      geometry.insideChunk, " ", geometry.betweenChunk, " grain ", geometry.grain, " between ",
      static_cast<int>(geometry.between), inPlace ? " in place" : "", " hosts");
  for (const int host : hosts)
    text += joined(" ", host);
  return text;
}

Report verifyTwoLevel(const TwoLevelCall& call, const TwoLevelSetup& setup) {
  return TwoLevelRun(call, setup).run();
}

}  // namespace rondo::verifier
