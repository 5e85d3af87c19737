#include "src/train/zero_training.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "src/train/agreement.h"
#include "src/train/bfloat16.h"
#include "src/train/rank_state.h"

namespace rondo::train {

namespace {

using Clock = std::chrono::steady_clock;

MarkLedger ledgerOf(const ParameterLayout& layout, int rank) {
  std::vector<MarkedTensor> tensors;
  for (std::size_t tensor = 0; tensor < layout.size(); ++tensor)
    tensors.push_back({layout[tensor].name, layout[tensor].uses});
  return {"gradients", std::move(tensors), rank};
}

}  // namespace

ReducedElems reducedElems(std::size_t unitElems, int ranks, int rank, bool compressed) {
  if (!compressed) return {unitElems, shareOf(unitElems, ranks, rank).size()};
  const std::size_t each = shareOf(unitElems, ranks, 0).size();
  return {each * static_cast<std::size_t>(ranks), each};
}

ZeroTraining::ZeroTraining(const Communicator& comm,
                           ParameterLayout layout,
                           const TrainingOptions& options)
    : TrainingBase(comm, std::move(layout), options),
      gatherComm_(comm_.split(0, rank_)),
      ledger_(ledgerOf(layout_, rank_)) {
  for (std::size_t unit = 0; unit < layout_.units(); ++unit)
    units_.push_back(makeUnit(unit));
  left_ = units_.size();
  if (options_.buckets.stallAfter.count() > 0) startWatch();
}

void ZeroTraining::startWatch() {
  const auto progress = [this] {
    const std::lock_guard lock(mutex_);
    return progressOf(ledger_);
  };
  watch_.emplace(comm_.split(0, rank_), ledger_.names(), options_.buckets.stallAfter, progress,
                 options_.buckets.onStall);
}

/// Of a pass that was not ended, or in which something has thrown, others may wait for operations
/// that will not come. Otherwise all ranks have begun the same, or will, and that is waited for.
ZeroTraining::~ZeroTraining() {
  if (left_ == units_.size() && std::uncaught_exceptions() == 0) return;
  static_cast<void>(rondoCommAbort(comm_.handle()));
  static_cast<void>(rondoCommAbort(gatherComm_.handle()));
}

ZeroTraining::Unit ZeroTraining::makeUnit(std::size_t number) {
  Unit unit;
  unit.elems = layout_.unitElems(number);
  unit.share = share(number);
  const auto& compression = options_.buckets.compression;
  unit.reduced = reducedElems(unit.elems, ranks_, rank_, compression.has_value());
  if (compression.has_value()) {
    unit.coded =
        std::make_unique<CodedExchange>(*compression, tensorCounts(number, unit.reduced.all));
  }
  unit.incomplete = layout_.firstOf(number + 1) - layout_.firstOf(number);
  for (int rank = 0; rank < ranks_; ++rank) {
    const Share part = shareOf(unit.elems, ranks_, rank);
    unit.counts.push_back(part.size());
    unit.displacements.push_back(part.begin);
  }
  const std::size_t own = unit.share.size();
  unit.parameters = MeteredBuffer(meter_, mastersKind(), sharesMasters() ? own : unit.elems);
  if (roundsParameters()) {
    unit.rounded =
        MeteredHalves(meter_, &TrainingMemory::parameters, sharesParameters() ? own : unit.elems);
  }
  (sharesGradients() ? unit.gradientShare : unit.gradients) = MeteredBuffer(
      meter_, &TrainingMemory::gradients, sharesGradients() ? unit.reduced.own : unit.reduced.all);
  for (std::size_t k = 0; k < options_.optimizer.states(); ++k)
    unit.states[k] = MeteredBuffer(meter_, &TrainingMemory::optimizer, own);
  return unit;
}

/// Elements of a unit's tensors, and of what fills it up.
std::vector<std::size_t> ZeroTraining::tensorCounts(std::size_t unit,
                                                    std::size_t reducedElems) const {
  std::vector<std::size_t> counts;
  for (std::size_t tensor = layout_.firstOf(unit); tensor < layout_.firstOf(unit + 1); ++tensor)
    counts.push_back(layout_[tensor].count);
  counts.push_back(reducedElems - layout_.unitElems(unit));
  return counts;
}

// ---- parameters --------------------------------------------------------------------------------

const float* ZeroTraining::acquire(std::size_t number) {
  Unit& unit = units_[number];
  if (++unit.holders == 1 && sharesParameters()) {
    noteAcquire(number);
    if (!present(unit)) gather(unit);
    const std::optional<std::size_t> next = nextAcquire();
    if (next.has_value() && !present(units_[*next])) gather(units_[*next]);
  }
  waitFor(unit);
  if (roundsParameters() && !unit.gathered.made()) widen(unit);
  return unit.gathered.made() ? unit.gathered.data() : unit.parameters.data();
}

void ZeroTraining::release(std::size_t number) {
  Unit& unit = units_[number];
  if (--unit.holders == 0 && nextAcquire() != number) drop(unit);
}

void ZeroTraining::widen(Unit& unit) {
  unit.gathered = MeteredBuffer(meter_, &TrainingMemory::parameters, unit.elems);
  fromBfloat16(sharesParameters() ? unit.gatheredRounded.data() : unit.rounded.data(),
               unit.gathered.data(), unit.elems);
  unit.gatheredRounded = {};
}

/// All ranks acquire alike, so all predict alike.
void ZeroTraining::noteAcquire(std::size_t unit) {
  const std::optional<std::size_t> predicted = nextAcquire();
  acquires_.push_back(unit);
  if (predicted == unit) return;
  asBefore_ = false;
  // Gathered for nothing.
  if (predicted.has_value() && units_[*predicted].holders == 0) {
    waitFor(units_[*predicted]);
    drop(units_[*predicted]);
  }
}

std::optional<std::size_t> ZeroTraining::nextAcquire() const {
  if (!asBefore_ || acquires_.size() >= lastAcquires_.size()) return {};
  return lastAcquires_[acquires_.size()];
}

/// Begins to gather a unit's parameters, where all of them are to lie.
void ZeroTraining::gather(Unit& unit) {
  rondoStream_t stream = options_.buckets.overlap ? gatherStream_.handle() : nullptr;
  const Clock::time_point begin = Clock::now();
  startGather(unit, stream);
  if (stream == nullptr) {
    times_.communicating += Clock::now() - begin;
    times_.exposed += Clock::now() - begin;
    return;
  }
  unit.gatherDone.record(stream);
  gathers_.add(unit.gatherDone, [] {});
  unit.gathering = true;
}

void ZeroTraining::startGather(Unit& unit, rondoStream_t stream) {
  const std::size_t begin = sharesParameters() ? 0 : unit.share.begin;
  const void* own = nullptr;
  void* all = nullptr;
  if (roundsParameters()) {
    if (sharesParameters())
      unit.gatheredRounded = MeteredHalves(meter_, &TrainingMemory::parameters, unit.elems);
    own = unit.rounded.data() + begin;
    all = sharesParameters() ? unit.gatheredRounded.data() : unit.rounded.data();
  } else {
    if (sharesParameters())
      unit.gathered = MeteredBuffer(meter_, &TrainingMemory::parameters, unit.elems);
    own = unit.parameters.data() + begin;
    all = sharesParameters() ? unit.gathered.data() : unit.parameters.data();
  }
  throwIfFailed(rondoAllGatherV(own, all, unit.counts.data(), unit.displacements.data(),
                                roundsParameters() ? rondoBfloat16 : rondoFloat32,
                                gatherComm_.handle(), stream),
                gatherComm_.handle());
  times_.bytes += unit.elems * (roundsParameters() ? sizeof(std::uint16_t) : sizeof(float));
}

/// Returns when a gather that was begun is complete.
void ZeroTraining::waitFor(Unit& unit) {
  if (!unit.gathering) return;
  const Clock::time_point begin = Clock::now();
  unit.gatherDone.synchronize();
  times_.exposed += Clock::now() - begin;
  unit.gathering = false;
  if (gatherComm_.asyncError() == rondoSuccess) return;
  gatherStream_.synchronize();
  throwIfFailed(gatherComm_.asyncError(), gatherComm_.handle());
}

// ---- gradients ---------------------------------------------------------------------------------

float* ZeroTraining::gradient(std::size_t parameter) {
  Unit& unit = units_[layout_[parameter].unit];
  makeGradients(unit);
  return unit.gradients.data() + layout_.offset(parameter);
}

void ZeroTraining::makeGradients(Unit& unit) {
  if (unit.gradients.made()) return;
  unit.gradients = MeteredBuffer(meter_, &TrainingMemory::gradients, unit.reduced.all);
}

void ZeroTraining::ready(std::size_t parameter) {
  {
    const std::lock_guard lock(mutex_);
    if (!ledger_.markReady(parameter)) return;
  }
  --units_[layout_[parameter].unit].incomplete;
  if (synchronizing_ && options_.buckets.overlap) launchComplete();
}

/// Begins the reductions of complete units, the last one first: in one order on all ranks.
void ZeroTraining::launchComplete() {
  while (left_ > 0 && units_[left_ - 1].incomplete == 0)
    reduce(units_[--left_]);
}

void ZeroTraining::reduce(Unit& unit) {
  makeGradients(unit);  // if nothing of it was used
  times_.bytes += unit.elems * sizeof(float);
  const auto freeWhole = [this, &unit] {
    if (sharesGradients()) unit.gradients = {};
  };
  if (options_.buckets.overlap) {
    reduceIntoShare(unit, reduceStream_);
    unit.reductionDone.record(reduceStream_);
    reductions_.add(unit.reductionDone, freeWhole);
  } else {
    const Clock::time_point begin = Clock::now();
    reduceIntoShare(unit, nullptr);
    times_.communicating += Clock::now() - begin;
    times_.exposed += Clock::now() - begin;
    freeWhole();
  }
}

void ZeroTraining::reduceIntoShare(Unit& unit, rondoStream_t stream) {
  const float* const all = unit.gradients.data();
  if (unit.coded) {
    const std::size_t begin = unit.reduced.own * static_cast<std::size_t>(rank_);
    float* const into =
        sharesGradients() ? unit.gradientShare.data() : unit.gradients.data() + begin;
    throwIfFailed(
        rondoReduceScatterCompressed(all, into, unit.reduced.own, rondoFloat32, options_.buckets.op,
                                     &unit.coded->how(), comm_.handle(), stream),
        comm_.handle());
    return;
  }
  float* const into =
      sharesGradients() ? unit.gradientShare.data() : unit.gradients.data() + unit.share.begin;
  throwIfFailed(rondoReduceScatterV(all, into, unit.counts.data(), unit.displacements.data(),
                                    rondoFloat32, options_.buckets.op, comm_.handle(), stream),
                comm_.handle());
}

void ZeroTraining::finishGradients() {
  for (Unit& unit : units_)
    unit.incomplete = 0;
  launchComplete();
  const Clock::time_point begin = Clock::now();
  const rondoResult_t result = rondoStreamSynchronize(reduceStream_);
  reductions_.drain();
  throwIfFailed(result);
  if (options_.buckets.overlap) times_.exposed += Clock::now() - begin;
  for (const Unit& unit : units_) {
    if (!unit.coded) continue;
    times_.codedBytes += unit.coded->report().wireBytes;
    times_.uncodedBytes += unit.coded->report().plainBytes;
  }
  const bool missing =
      options_.buckets.missing == MissingGradient::kError && ledger_.anyMissing(comm_);
  const std::string problem = missing ? ledger_.describeMissing(comm_) : std::string();
  endPass();
  if (problem.empty()) return;
  clearGradients();
  throw Error(rondoInvalidUsage, problem);
}

void ZeroTraining::endPass() {
  {
    const std::lock_guard lock(mutex_);
    ledger_.endPass(synchronizing_);
  }
  for (std::size_t unit = 0; unit < units_.size(); ++unit)
    units_[unit].incomplete = layout_.firstOf(unit + 1) - layout_.firstOf(unit);
  left_ = units_.size();
}

const float* ZeroTraining::gradientOf(std::size_t parameter, std::size_t unitElem) const {
  const Unit& unit = units_[layout_[parameter].unit];
  return sharesGradients() ? unit.gradientShare.data() + (unitElem - unit.share.begin)
                           : unit.gradients.data() + unitElem;
}

void ZeroTraining::clearGradients() {
  for (const Unit& unit : units_) {
    if (unit.gradients.made()) unit.gradients.clear();
  }
  lastAcquires_ = std::exchange(acquires_, {});
  asBefore_ = true;
}

// ---- steps -------------------------------------------------------------------------------------

TrainingBase::Held ZeroTraining::held(std::size_t number) const {
  const Unit& unit = units_[number];
  return {unit.parameters.data(),
          sharesMasters() ? unit.share : Share{0, unit.elems},
          {unit.states[0].data(), unit.states[1].data()},
          unit.share};
}

/// Nothing reads or writes parameters any more, and none that were gathered outlive their change.
void ZeroTraining::beforeUpdate() {
  for (Unit& unit : units_) {
    waitFor(unit);
    if (unit.holders == 0) drop(unit);
  }
  gathers_.drain();
}

void ZeroTraining::afterUpdate() {
  for (Unit& unit : units_) {
    if (roundsParameters()) {
      toBfloat16(unit.parameters.data(),
                 unit.rounded.data() + (sharesParameters() ? 0 : unit.share.begin),
                 unit.share.size());
    }
    if (!sharesParameters()) gather(unit);
  }
}

/// Of what must be the same for what compression has rounded away to mean something.
std::uint64_t ZeroTraining::fingerprint() const {
  std::vector<std::string> lines = layout_.describe();
  lines.push_back(describe(options_.buckets.compression));
  return fingerprintOf(lines, comm_);
}

std::vector<std::byte> ZeroTraining::rankState() const {
  RankState state{.fingerprint = fingerprint()};
  for (const Unit& unit : units_) {
    if (unit.coded) state.feedbacks.push_back(unit.coded->saveFeedback());
  }
  return state.bytes();
}

bool ZeroTraining::restoreRankState(std::span<const std::byte> bytes) {
  std::optional<RankState> state = RankState::parse(bytes);
  const std::size_t coded = options_.buckets.compression.has_value() ? units_.size() : 0;
  if (state && (state->fingerprint != fingerprint() || state->feedbacks.size() != coded))
    state.reset();
  const bool restores = allHaveTheSame(comm_, state);
  onAllRanks(comm_, [&] {
    for (std::size_t unit = 0; unit < coded; ++unit) {
      if (restores) {
        units_[unit].coded->loadFeedback(state->feedbacks[unit]);
      } else {
        units_[unit].coded->resetFeedback();
      }
    }
  });
  return restores;
}

CommunicationTimes ZeroTraining::times() const {
  CommunicationTimes times = times_;
  times.communicating += reductions_.busy() + gathers_.busy();
  return times;
}

}  // namespace rondo::train
