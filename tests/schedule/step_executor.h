// Runs one step of one rank on symbolic memory and slots, checking everything it touches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/schedule/connections.h"
#include "tests/schedule/rank_memory.h"
#include "tests/schedule/verifier.h"

namespace rondo::verifier {

/// One rank in the middle of one call.
struct RankState {
  int rank = 0;
  std::size_t callIndex = 0;
  const Call* call = nullptr;
  std::unique_ptr<AnySchedule> schedule;
  std::shared_ptr<RankMemory> memory;  ///< shared by the stages of an operation
  std::vector<Connection*> recvEnds;   ///< by entry of the receive table
  std::vector<Connection*> sendEnds;   ///< by entry of the send table
  std::vector<bool> recvUsed;
  std::vector<bool> sendUsed;
  /// By entry of the send table: slots posted up to the last one whose payload was left in a buffer
  /// by this call.
  std::vector<std::uint64_t> leftUpTo;

  std::size_t size = 0;                  ///< of the schedule
  std::size_t index = 0;                 ///< of the current step
  std::size_t mark = 0;                  ///< added to it where accesses to memory are noted
  Step step;                             ///< the current step, if index < size
  bool begun = false;                    ///< a faulty executor is in the middle of the current step
  std::vector<std::uint64_t> recvSlots;  ///< numbers of the slots that the step receives
  std::vector<std::uint64_t> sendSlots;  ///< numbers of the slots that the step sends

  Cost counted;
  RankSet arrived;          ///< ranks known to have begun this call
  std::uint16_t waves = 0;  ///< connections on the longest chain of steps that led here
};

enum class Progress : std::uint8_t { kBlocked, kRan, kFailed };

class StepExecutor {
 public:
  StepExecutor(const Setup& setup, Connections& connections)
      : setup_(setup), connections_(connections) {}

  /// Makes step `state.index` the current one. False if it is malformed.
  bool load(RankState& state);

  /// Runs the current step if it is ready and loads the next one.
  Progress tryStep(RankState& state);

  /// True if nobody can read a payload that the call has left in its buffers.
  static bool settled(const RankState& state);

  /// What the current step waits for, in words.
  std::string waitsFor(const RankState& state) const;

  /// Why load() or tryStep() failed.
  const Violation& violation() const { return violation_; }

  /// Steps run so far.
  std::size_t steps() const { return steps_; }

 private:
  template <class... Parts>
  bool fail(const RankState& state, Failure kind, const Parts&... cause) {
    violation_ = {kind, state.rank, state.callIndex, state.index, joined(cause...)};
    return false;
  }

  bool delaysStep() const {
    return setup_.fault == ExecutorFault::kReleaseBeforeRead ||
           setup_.fault == ExecutorFault::kPostBeforeWrite;
  }

  bool ready(const RankState& state) const;
  void begin(RankState& state);
  bool finish(RankState& state);
  bool openReceived(RankState& state);
  bool checkLeftPayload(const RankState& state, const Payload& payload);
  Source lastingPayload(const RankState& state) const;
  bool checkRows(const RankState& state);
  bool fold(RankState& state);
  bool foldElement(RankState& state, std::size_t row, std::size_t column, Value& sum);
  bool combine(const RankState& state, Value& sum, bool& empty, const Value& next);
  bool finishSum(const RankState& state, Value& sum);
  bool store(RankState& state);
  bool send(RankState& state);
  void release(RankState& state);

  const Setup& setup_;
  Connections& connections_;
  std::vector<const Payload*> received_;  // of the step being run
  std::vector<Value> results_;            // of the step being run
  Violation violation_;
  std::size_t steps_ = 0;
};

}  // namespace rondo::verifier
