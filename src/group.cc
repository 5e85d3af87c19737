#include "src/group.h"

#include <algorithm>
#include <utility>

#include "src/communicator_handles.h"
#include "src/group_run.h"

namespace rondo {

namespace {

Status noGroup(std::string_view function) {
  return Status::invalidUsage("{} without rondoGroupStart in this thread", function);
}

/// Calls on a device are queued one after another.
Status queueOnDevice(const GroupPart& part) {
  for (const QueuedCollective& queued : part.calls.collectives)
    RONDO_RETURN_IF_ERROR(part.communicator->run(queued.call(), queued.stream()));
  return {};
}

Status carryOut(std::vector<GroupPart> parts) {
  const bool onDevices = std::ranges::any_of(
      parts, [](const GroupPart& part) { return part.communicator->onDevice(); });
  if (!onDevices) return runGroup(std::move(parts));
  if (parts.size() == 1) return queueOnDevice(parts.front());
  return Status::notSupported(
      "a group of {} communicators, some on CUDA devices; a group with such a one may have no "
      "other",
      parts.size());
}

}  // namespace

CallGroup& CallGroup::ofThread() {
  thread_local CallGroup group;
  return group;
}

GroupCalls& CallGroup::callsOf(rondoComm_t comm) {
  const auto found = std::ranges::find(members_, comm, &Member::comm);
  if (found != members_.end()) return found->calls;
  return members_.emplace_back(Member{comm, {}}).calls;
}

Status CallGroup::cancel() {
  if (depth_ == 0) return noGroup("rondoGroupCancel");
  refuse(Status::invalidUsage("a group inside this one was cancelled"));
  (void)end();
  return {};
}

GroupOutcome CallGroup::end() {
  GroupOutcome outcome;
  if (depth_ == 0) {
    outcome.status = noGroup("rondoGroupEnd");
    return outcome;
  }
  if (--depth_ > 0) return outcome;
  std::vector<Member> members = std::exchange(members_, {});
  outcome.status = std::exchange(refused_, {});
  std::vector<GroupPart> parts;
  for (Member& member : members) {
    outcome.members.push_back(member.comm);
    if (!outcome.status.ok()) continue;
    const Result<Communicator*> communicator = findCommunicator(member.comm);
    if (!communicator.ok()) {
      outcome.status = communicator.status();
    } else {
      parts.push_back({*communicator, std::move(member.calls)});
    }
  }
  if (outcome.status.ok()) outcome.status = carryOut(std::move(parts));
  return outcome;
}

Status runMessage(rondoComm_t comm, const MessageCall& call) {
  const Result<Communicator*> communicator = findCommunicator(comm);
  RONDO_RETURN_IF_ERROR(communicator.status());
  std::vector<GroupPart> parts(1);
  parts.front().communicator = *communicator;
  parts.front().calls.messages.push_back(call);
  return runGroup(std::move(parts));
}

}  // namespace rondo
