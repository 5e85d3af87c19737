#include "src/nccl/thread_group.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "src/format.h"
#include "src/last_error.h"
#include "src/nccl/values.h"

namespace rondo::nccl {

namespace {

/// How a maker fared in its thread.
struct Outcome {
  rondoResult_t result = rondoSuccess;
  std::string message;
};

Outcome run(const ThreadGroup::Maker& maker) {
  Outcome outcome{maker(), {}};
  if (outcome.result != rondoSuccess) outcome.message = rondoGetLastError(nullptr);
  return outcome;
}

/// Each in a thread of its own, as they wait for each other; the first failure is the result.
rondoResult_t runAll(const std::vector<ThreadGroup::Maker>& makers) {
  std::vector<Outcome> outcomes(makers.size());
  try {
    std::vector<std::jthread> threads;
    for (std::size_t index = 0; index < makers.size(); ++index) {
      threads.emplace_back([&, index] { outcomes[index] = run(makers[index]); });
    }
  } catch (const std::system_error& error) {
    rememberFailure(
        0, fmt::format("a thread for each of the {} communicators that the group makes: {}",
                       makers.size(), error.what()));
    return rondoSystemError;
  }
  const auto failed = std::ranges::find_if(
      outcomes, [](const Outcome& outcome) { return outcome.result != rondoSuccess; });
  if (failed == outcomes.end()) return rondoSuccess;
  rememberFailure(0, failed->message);
  return failed->result;
}

}  // namespace

ThreadGroup& ThreadGroup::ofThread() {
  thread_local ThreadGroup group;
  return group;
}

void ThreadGroup::start() {
  rondoGroupStart();
  ++depth_;
}

ncclResult_t ThreadGroup::make(Maker maker) {
  if (!collecting()) return toNccl(maker());
  makers_.push_back(std::move(maker));
  return ncclSuccess;
}

void ThreadGroup::include(rondoComm_t comm) {
  if (collecting() && std::ranges::find(members_, comm) == members_.end()) members_.push_back(comm);
}

ncclResult_t ThreadGroup::end() {
  if (depth_ > 0) --depth_;
  if (collecting()) return toNccl(rondoGroupEnd());
  const std::vector<Maker> makers = std::exchange(makers_, {});
  const std::vector<rondoComm_t> members = std::exchange(members_, {});
  const bool cancelled = std::exchange(cancelled_, false);
  const rondoResult_t made = cancelled ? rondoSuccess : runAll(makers);
  if (made != rondoSuccess) {
    rondoGroupCancel();
    return toNccl(made);
  }
  std::vector<Underway> underway;
  underway.reserve(members.size());
  for (rondoComm_t comm : members)
    underway.emplace_back(comm);
  return toNccl(rondoGroupEnd());
}

ncclResult_t ThreadGroup::cancel() {
  const rondoResult_t cancelled = rondoGroupCancel();
  if (depth_ > 0) --depth_;
  cancelled_ = collecting();
  if (!collecting()) {
    makers_.clear();
    members_.clear();
  }
  return toNccl(cancelled);
}

}  // namespace rondo::nccl
