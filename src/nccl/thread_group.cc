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

/// How a call fared in its thread.
struct Outcome {
  rondoResult_t result = rondoSuccess;
  std::string message;
};

Outcome run(const ThreadGroup::Call& call) {
  Outcome outcome{call(), {}};
  if (outcome.result != rondoSuccess) outcome.message = rondoGetLastError(nullptr);
  return outcome;
}

/// Each in a thread of its own, as they wait for each other; the first failure is the result.
rondoResult_t runAll(const std::vector<ThreadGroup::Call>& calls) {
  std::vector<Outcome> outcomes(calls.size());
  try {
    std::vector<std::jthread> threads;
    for (std::size_t index = 0; index < calls.size(); ++index) {
      threads.emplace_back([&, index] { outcomes[index] = run(calls[index]); });
    }
  } catch (const std::system_error& error) {
    rememberFailure(0, fmt::format("a thread for each of the group's {} ranks: {}", calls.size(),
                                   error.what()));
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

ncclResult_t ThreadGroup::make(Call maker, bool waits) {
  if (!collecting() || !waits) return makeAtOnce(maker);
  content_.makers.push_back(std::move(maker));
  return ncclSuccess;
}

/// In a group its end tells whether something goes on.
ncclResult_t ThreadGroup::makeAtOnce(const Call& maker) {
  const rondoResult_t result = maker();
  if (!collecting() || result != rondoInProgress) return toNccl(result);
  content_.inProgress = true;
  return ncclSuccess;
}

void ThreadGroup::include(rondoComm_t comm) {
  std::vector<rondoComm_t>& members = content_.members;
  if (collecting() && std::ranges::find(members, comm) == members.end()) members.push_back(comm);
}

void ThreadGroup::addOnDevice(rondoComm_t comm, Call operation) {
  include(comm);
  auto rank = std::ranges::find(content_.deviceRanks, comm, &DeviceRank::comm);
  if (rank == content_.deviceRanks.end())
    rank = content_.deviceRanks.insert(rank, DeviceRank{comm, {}});
  rank->operations.push_back(std::move(operation));
}

ncclResult_t ThreadGroup::end() {
  if (depth_ > 0) --depth_;
  if (collecting()) return toNccl(rondoGroupEnd());
  const Content content = std::exchange(content_, {});
  std::vector<Underway> underway;
  const ncclResult_t prepared = content.cancelled ? ncclSuccess : prepare(content, underway);
  if (prepared != ncclSuccess) {
    rondoGroupCancel();
    return prepared;
  }
  const ncclResult_t ended = toNccl(rondoGroupEnd());
  return ended == ncclSuccess && content.inProgress ? ncclInProgress : ended;
}

ncclResult_t ThreadGroup::prepare(const Content& content, std::vector<Underway>& underway) {
  const rondoResult_t made = runAll(content.makers);
  if (made != rondoSuccess) return toNccl(made);
  underway.reserve(content.members.size());
  for (rondoComm_t comm : content.members)
    underway.emplace_back(comm);
  if (!std::ranges::all_of(underway, &Underway::allowed)) {
    rememberFailure(0, "a communicator of the group was aborted, which ends all use of it");
    return ncclInvalidUsage;
  }
  return toNccl(operate(content.deviceRanks));
}

/// Those of one rank become part of Rondo's group, of several each a group in its thread.
rondoResult_t ThreadGroup::operate(const std::vector<DeviceRank>& ranks) {
  const auto note = [](const DeviceRank& rank) {
    for (const Call& operation : rank.operations)
      (void)operation();  // what is refused fails the group
  };
  if (ranks.size() == 1) {
    note(ranks.front());
    return rondoSuccess;
  }
  std::vector<Call> calls;
  for (const DeviceRank& rank : ranks) {
    calls.emplace_back([&rank, &note] {
      rondoGroupStart();
      note(rank);
      return rondoGroupEnd();
    });
  }
  return runAll(calls);
}

ncclResult_t ThreadGroup::cancel() {
  const rondoResult_t cancelled = rondoGroupCancel();
  if (depth_ > 0) --depth_;
  content_ = {};
  content_.cancelled = collecting();
  return toNccl(cancelled);
}

}  // namespace rondo::nccl
