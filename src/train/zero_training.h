// Stages 1 to 3: optimizer state, gradients and parameters of each unit are shared out among the
// ranks. Gradients are reduce-scattered as soon as a unit's are complete, parameters are
// all-gathered after each update or, in stage 3, for each use, one unit ahead of it.
//
// Two communicators, because the two go on beside each other: reductions in descending order of
// units, as backward completes them, gathers in the order in which the model acquires.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "src/train/coded_exchange.h"
#include "src/train/completion_thread.h"
#include "src/train/stall_watch.h"
#include "src/train/training_base.h"

namespace rondo::train {

/// Elements of a unit's gradients as they are reduced. Compressed reductions share out equal parts,
/// so that the last ones may be longer than the shares.
struct ReducedElems {
  std::size_t all = 0;
  std::size_t own = 0;  ///< what this rank receives
};

/// Pure.
ReducedElems reducedElems(std::size_t unitElems, int ranks, int rank, bool compressed);

class ZeroTraining final : public TrainingBase {
 public:
  ZeroTraining(const Communicator& comm, ParameterLayout layout, const TrainingOptions& options);
  /// In the middle of a pass: aborts what others still wait for.
  ~ZeroTraining() override;
  ZeroTraining(const ZeroTraining&) = delete;
  ZeroTraining& operator=(const ZeroTraining&) = delete;

  const float* acquire(std::size_t unit) override;
  void release(std::size_t unit) override;
  float* gradient(std::size_t parameter) override;
  void ready(std::size_t parameter) override;

  void synchronize(bool on) override { synchronizing_ = on; }

  void endMicroBatch() override { endPass(); }

  CommunicationTimes times() const override;
  std::vector<std::byte> rankState() const override;
  bool restoreRankState(std::span<const std::byte> state) override;

 protected:
  Held held(std::size_t unit) const override;
  void finishGradients() override;
  const float* gradientOf(std::size_t parameter, std::size_t unitElem) const override;
  void beforeUpdate() override;
  void afterUpdate() override;
  void clearGradients() override;

 private:
  struct Unit {
    std::size_t elems = 0;
    Share share;
    ReducedElems reduced;
    std::vector<std::size_t> counts;         // of each rank's share
    std::vector<std::size_t> displacements;  // likewise
    MeteredBuffer parameters;                // what is updated: the share; all in stages 1, 2, fp32
    MeteredHalves rounded;                   // bf16: all; in stage 3 the share
    MeteredHalves gatheredRounded;           // bf16, stage 3: all, from gather to use
    MeteredBuffer gathered;                  // stage 3 or bf16: all as fp32, while in use
    MeteredBuffer gradients;                 // all; in stages 2 and 3 from first use to reduction
    MeteredBuffer gradientShare;             // stages 2 and 3
    MeteredBuffer states[2];                 // of the share
    std::unique_ptr<CodedExchange> coded;    // null: gradients are sent as they are
    std::size_t incomplete = 0;              // tensors that this pass still needs
    int holders = 0;
    bool gathering = false;  // a gather was issued and not waited for
    Event reductionDone;
    Event gatherDone;
  };

  bool sharesGradients() const { return options_.stage >= 2; }

  bool sharesParameters() const { return options_.stage >= 3; }

  /// Whether only this rank's share of what is updated is held.
  bool sharesMasters() const { return sharesParameters() || roundsParameters(); }

  /// Stage 3: whether a gather of the unit was begun, and nothing dropped since.
  static bool present(const Unit& unit) {
    return unit.gathered.made() || unit.gatheredRounded.made();
  }

  static void drop(Unit& unit) {
    unit.gathered = {};
    unit.gatheredRounded = {};
  }

  Unit makeUnit(std::size_t unit);
  std::vector<std::size_t> tensorCounts(std::size_t unit, std::size_t reducedElems) const;
  std::uint64_t fingerprint() const;
  void startWatch();
  void makeGradients(Unit& unit);
  void endPass();
  void launchComplete();
  void reduce(Unit& unit);
  void reduceIntoShare(Unit& unit, rondoStream_t stream);
  void gather(Unit& unit);
  void startGather(Unit& unit, rondoStream_t stream);
  void waitFor(Unit& unit);
  void widen(Unit& unit);
  void noteAcquire(std::size_t unit);
  std::optional<std::size_t> nextAcquire() const;

  const Communicator gatherComm_;
  mutable std::mutex mutex_;  // guards the ledger's changes, which the watch looks at
  MarkLedger ledger_;
  std::vector<Unit> units_;
  std::size_t left_ = 0;  // units whose reduction was not begun in this pass: 0 .. left_ - 1
  bool synchronizing_ = true;

  // Stage 3: the units that the last step acquired, and this one so far, in order.
  std::vector<std::size_t> lastAcquires_;
  std::vector<std::size_t> acquires_;
  bool asBefore_ = false;  // so far the two agree

  CommunicationTimes times_;  // without what the threads below have measured
  Stream reduceStream_;
  Stream gatherStream_;
  CompletionThread reductions_;
  CompletionThread gathers_;
  std::optional<StallWatch> watch_;  // destroyed first: it reads the ledger
};

}  // namespace rondo::train
