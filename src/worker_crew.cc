#include "src/worker_crew.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <sched.h>

#include "collectives/partition.h"
#include "kernels/host/float_environment.h"
#include "kernels/memory_order.h"
#include "src/net/quiet_thread.h"

namespace rondo {

namespace {

/// Of a helper that nobody needs: it is woken, and need not look.
constexpr std::chrono::hours kLongSleep{1};

/// Runs `body` in the floating-point mode that `work` needs.
template <class Body>
auto inItsFloatMode(const host::Work& work, const Body& body) {
  if (work.arithmetic.combine == nullptr) return body();
  const host::FloatEnvironment environment;
  return body();
}

}  // namespace

/// What a helper and the calling thread share.
struct WorkerCrew::Helper {
  CounterLine given;     // parts handed out so far; written by the calling thread
  CounterLine back;      // parts given back; written by the helper
  CounterLine recalled;  // the part that is wanted back at once; written by the calling thread
  alignas(64) std::uint32_t ending = 0;
  Doorbell bell;
  DoorbellPlace place{bell};  // where the helper sleeps
  // The part; changed while the helper has none.
  std::span<host::Lane> lanes;
  const host::Work* work = nullptr;
  std::thread thread;
};

WorkerCrew::WorkerCrew(const host::WaitPolicy& policy,
                       std::uint32_t& failedFlag,
                       host::WaitPlace& place)
    : policy_(policy), failedFlag_(&failedFlag), place_(&place) {}

WorkerCrew::~WorkerCrew() {
  for (const auto& helper : helpers_) {
    host::raiseFlag(helper->ending);
    helper->bell.ring();
  }
  for (const auto& helper : helpers_)
    helper->thread.join();
}

Status WorkerCrew::grow(std::size_t wanted) {
  while (helpers_.size() < wanted) {
    parts_.reserve(wanted + 1);
    helpers_.reserve(wanted);
    auto helper = std::make_unique<Helper>();
    Result<std::thread> thread =
        startQuietThread("rondo-worker", [this, own = helper.get()] { serve(*own); });
    RONDO_RETURN_IF_ERROR(thread.status());
    helper->thread = *std::move(thread);
    helpers_.push_back(std::move(helper));
  }
  return {};
}

// The calling thread.

host::RunOutcome WorkerCrew::run(std::span<host::Lane> lanes,
                                 int workers,
                                 const host::Work& work,
                                 host::Waiter& waiter,
                                 bool begins) {
  if (begins) {
    divide(lanes, std::min(static_cast<std::size_t>(workers), helpers_.size() + 1));
    for (Part& part : parts_)
      if (part.helper != nullptr) handOut(part, work);
  }
  return inItsFloatMode(work, [&] { return takeTurns(lanes, work, waiter); });
}

void WorkerCrew::divide(std::span<host::Lane> lanes, std::size_t workers) {
  parts_.clear();
  for (std::size_t worker = 0; worker < workers; ++worker) {
    const Span share = evenShare(lanes.size(), workers, worker, 1);
    parts_.push_back({.lanes = lanes.subspan(share.offset, share.elems),
                      .helper = worker == 0 ? nullptr : helpers_[worker - 1].get()});
  }
}

host::RunOutcome WorkerCrew::takeTurns(std::span<host::Lane> lanes,
                                       const host::Work& work,
                                       host::Waiter& waiter) {
  for (;;) {
    const host::Turn turn = takeTurn(work);
    const bool passedOn = waiter.place().progress();
    if (turn.finished && waiter.place().flushed()) return {};
    if (turn.mismatched.has_value()) {
      callHome();
      return {host::RunResult::kMismatch, *turn.mismatched};
    }
    if (turn.moved || passedOn) {
      waiter.progressed();
      continue;
    }
    const host::WaitResult waited = waiter.pause();
    if (waited == host::WaitResult::kAborted) {
      callHome();
      return {host::RunResult::kAborted, {}};
    }
    // What is with a helper moves, or comes home soon.
    if (waited == host::WaitResult::kCheckPeers && allHome())
      return {host::RunResult::kStalled, host::firstBlocked(lanes, work), turn.finished};
  }
}

host::Turn WorkerCrew::takeTurn(const host::Work& work) {
  host::Turn all;
  for (Part& part : parts_) {
    if (part.out) {
      const bool back = takeBack(part);
      all.moved |= back;
      all.finished &= back;
      if (!back) continue;
    }
    if (part.finished) continue;
    const host::Turn turn = host::takeTurn(part.lanes, work);
    part.finished = turn.finished;
    all.moved |= turn.moved;
    all.finished &= turn.finished;
    if (turn.mismatched.has_value() && !all.mismatched.has_value())
      all.mismatched = turn.mismatched;
    if (turn.moved && !turn.finished && part.helper != nullptr) handOut(part, work);
  }
  return all;
}

void WorkerCrew::handOut(Part& part, const host::Work& work) {
  Helper& helper = *part.helper;
  helper.lanes = part.lanes;
  helper.work = &work;
  part.out = true;
  host::postCounter(helper.given.value, helper.given.value + 1);
  helper.bell.ring();
}

bool WorkerCrew::takeBack(Part& part) {
  Helper& helper = *part.helper;
  if (host::observeCounter(helper.back.value) != helper.given.value) return false;
  part.out = false;
  return true;
}

bool WorkerCrew::allHome() const {
  return std::ranges::none_of(parts_, &Part::out);
}

/// A helper is in the middle of a step at most.
void WorkerCrew::callHome() {
  for (const Part& part : parts_)
    if (part.out) host::postCounter(part.helper->recalled.value, part.helper->given.value);
  for (Part& part : parts_)
    while (part.out && !takeBack(part))
      ::sched_yield();
}

// Helpers.

void WorkerCrew::serve(Helper& helper) const {
  for (std::uint64_t number = 1; awaitPart(helper, number); ++number) {
    inItsFloatMode(*helper.work, [&] { runPart(helper, number); });
    host::postCounter(helper.back.value, number);
    place_->wake();
  }
}

/// @return false: the crew ends
bool WorkerCrew::awaitPart(Helper& helper, std::uint64_t number) const {
  bool announced = false;
  for (int polls = 0; host::observeCounter(helper.given.value) < number; ++polls) {
    if (host::flagRaised(helper.ending)) return false;
    if (polls < policy_.spinPolls) {
      host::relaxCpu();
    } else if (!std::exchange(announced, !announced)) {
      helper.place.prepareSleep();
    } else {
      helper.place.sleep(kLongSleep);
    }
  }
  if (announced) helper.place.stayAwake();
  return true;
}

/// Until the part is finished, or nothing of it has moved for as long as a rank looks before it
/// sleeps.
void WorkerCrew::runPart(Helper& helper, std::uint64_t number) const {
  for (int idle = 0; idle <= policy_.spinPolls + policy_.yields;) {
    const bool unwanted = host::observeCounter(helper.recalled.value) == number;
    if (unwanted || host::flagRaised(*failedFlag_)) return;
    const host::Turn turn = host::takeTurn(helper.lanes, *helper.work);
    if (turn.finished || turn.mismatched.has_value()) return;
    if (turn.moved) {
      idle = 0;
    } else if (idle++ < policy_.spinPolls) {
      host::relaxCpu();
    } else {
      ::sched_yield();
    }
  }
}

}  // namespace rondo
