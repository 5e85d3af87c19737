#include "src/group.h"

#include <algorithm>
#include <span>
#include <utility>

#include "src/communicator_handles.h"
#include "src/group_run.h"
#include "src/stream_handles.h"
#include "src/stream_task.h"

namespace rondo {

/// What a group has to do in one place.
struct StreamParts {
  HostStream* stream = nullptr;  // null: the calling thread, or devices whose calls it queues
  std::vector<GroupPart> parts;
};

namespace {

Status noGroup(std::string_view function) {
  return Status::invalidUsage("{} without rondoGroupStart in this thread", function);
}

/// Calls on a device are queued one after another; messages, which are one, come first.
Status queueOnDevice(const GroupPart& part) {
  const GroupCalls& calls = part.calls;
  if (!calls.messages.empty())
    RONDO_RETURN_IF_ERROR(part.communicator->runMessages(calls.messages, calls.messageStream));
  for (const QueuedCollective& queued : calls.collectives)
    RONDO_RETURN_IF_ERROR(part.communicator->run(queued.call, queued.stream));
  return {};
}

void issueMessages(Communicator& communicator,
                   std::vector<MessageCall> messages,
                   rondoStream_t onDevice,
                   HostStream& stream) {
  stream.enqueue(
      InTurnTask([&communicator, messages = std::move(messages),
                  onDevice] { return communicator.runMessagesInTurn(messages, onDevice); },
                 nullptr, std::optional<IssuedPlace>(communicator.order())));
}

/// Parts that are on one stream, which for a communicator on a device is its own.
void issue(std::vector<GroupPart> parts, HostStream& stream) {
  GroupPart& first = parts.front();
  if (!first.communicator->onDevice()) return stream.enqueue(GroupTask(std::move(parts)));
  if (!first.calls.messages.empty())
    issueMessages(*first.communicator, first.calls.messages, first.calls.messageStream, stream);
  for (const QueuedCollective& queued : first.calls.collectives)
    stream.enqueue(CollectiveTask(*first.communicator, queued.call, queued.stream));
}

/// First what is issued, so that it goes on while the calling thread carries out the rest.
Status carryOutOnHost(std::vector<StreamParts> groups) {
  std::vector<GroupPart> own;
  for (StreamParts& group : groups) {
    if (group.stream == nullptr) {
      own = std::move(group.parts);
    } else {
      issue(std::move(group.parts), *group.stream);
    }
  }
  return runGroup(own);
}

/// Whether there are devices whose calls wait.
bool hasDevices(const StreamParts& group) {
  return group.stream == nullptr && std::ranges::any_of(group.parts, [](const GroupPart& part) {
           return part.communicator->onDevice();
         });
}

/// Of several communicators on devices each needs a thread of its own.
Status checkDevices(const std::vector<StreamParts>& groups) {
  std::size_t communicators = 0;
  for (const StreamParts& group : groups)
    communicators += group.parts.size();
  if (communicators <= 1 || std::ranges::none_of(groups, hasDevices)) return {};
  return Status::notSupported(
      "a group of {} communicators, some on CUDA devices; a group with such a one may have no "
      "other",
      communicators);
}

Status carryOut(std::vector<StreamParts> groups) {
  if (std::ranges::none_of(groups, hasDevices)) return carryOutOnHost(std::move(groups));
  return queueOnDevice(groups.front().parts.front());
}

/// Ranks that wait for calls of a group that is not carried out are told why.
void reject(rondoComm_t comm, const GroupCalls& calls, const Status& reason) {
  const Result<Communicator*> communicator = findCommunicator(comm);
  if (!communicator.ok()) return;
  if (!calls.collectives.empty()) (void)(*communicator)->reject(reason);
  const std::vector<int> peers = calls.peers();
  if (!peers.empty()) (void)(*communicator)->rejectMessages(peers, reason);
}

}  // namespace

CallGroup& CallGroup::ofThread() {
  thread_local CallGroup group;
  return group;
}

GroupCalls& CallGroup::callsOf(rondoComm_t comm) {
  const auto found = std::ranges::find(members_, comm, &Member::comm);
  return found != members_.end() ? found->calls : addMember(comm, nullptr);
}

GroupCalls& CallGroup::addMember(rondoComm_t comm, rondoStream_t hostStream) {
  return members_.emplace_back(Member{comm, hostStream, std::exchange(spare_, {})}).calls;
}

Result<GroupCalls*> CallGroup::callsOf(rondoComm_t comm, rondoStream_t hostStream) {
  const auto found = std::ranges::find(members_, comm, &Member::comm);
  if (found == members_.end()) return &addMember(comm, hostStream);
  if (found->hostStream == hostStream) return &found->calls;
  return Status::invalidUsage(
      "a call on stream {} in a group whose earlier calls on the communicator are on stream {}; "
      "in a group all calls of a host communicator are on one stream",
      static_cast<const void*>(hostStream), static_cast<const void*>(found->hostStream));
}

Status CallGroup::add(rondoComm_t comm, const MessageCall& call, rondoStream_t stream) {
  GroupCalls& calls = callsOf(comm);
  if (!calls.messages.empty() && calls.messageStream != stream) {
    return Status::invalidUsage(
        "a message on stream {} in a group whose earlier messages on the communicator are on "
        "stream {}; in a group all messages of a communicator are on one stream",
        static_cast<const void*>(stream), static_cast<const void*>(calls.messageStream));
  }
  calls.messageStream = stream;
  calls.messages.push_back(call);
  return {};
}

Status CallGroup::addOnHost(rondoComm_t comm, const CollectiveCall& call, rondoStream_t stream) {
  const Result<GroupCalls*> calls = callsOf(comm, stream);
  RONDO_RETURN_IF_ERROR(calls.status());
  (*calls)->collectives.push_back({call, nullptr});
  return {};
}

Status CallGroup::addOnHost(rondoComm_t comm, const MessageCall& call, rondoStream_t stream) {
  const Result<GroupCalls*> calls = callsOf(comm, stream);
  RONDO_RETURN_IF_ERROR(calls.status());
  (*calls)->messages.push_back(call);
  return {};
}

/// Puts the calls of `member` to others on the same stream.
/// @return whether that is the communicator's own
Result<bool> CallGroup::sortIn(const Member& member, std::vector<StreamParts>& groups) {
  const Result<Communicator*> communicator = findCommunicator(member.comm);
  RONDO_RETURN_IF_ERROR(communicator.status());
  const Result<HostStream*> asked = findStream(member.hostStream);
  RONDO_RETURN_IF_ERROR(asked.status());
  HostStream* const stream = *asked != nullptr ? *asked : (*communicator)->worker();
  auto group = std::ranges::find(groups, stream, &StreamParts::stream);
  if (group == groups.end()) group = groups.insert(group, {stream, {}});
  group->parts.push_back({*communicator, member.calls});
  return *asked == nullptr && stream != nullptr;
}

Status CallGroup::cancel() {
  if (depth_ == 0) return noGroup("rondoGroupCancel");
  refuse(Status::invalidUsage("a group inside this one was cancelled"));
  (void)end();
  return {};
}

/// That of a group which has one, on host memory, whose calls the calling thread carries out; null
/// for all others.
Communicator* CallGroup::soleCommunicator() const {
  if (!refused_.ok() || members_.size() != 1 || members_.front().hostStream != nullptr)
    return nullptr;
  const Result<Communicator*> found = findCommunicator(members_.front().comm);
  if (!found.ok() || (*found)->onDevice() || (*found)->worker() != nullptr) return nullptr;
  return *found;
}

/// Allocates nothing once there was a group like this one.
Status CallGroup::runAlone(Communicator& communicator, GroupCalls calls) {
  GroupPart part{&communicator, std::move(calls)};
  const Status status = runGroup(std::span(&part, 1));
  part.calls.clear();
  spare_ = std::move(part.calls);
  return status;
}

GroupOutcome CallGroup::end() {
  GroupOutcome outcome;
  if (depth_ == 0) {
    outcome.status = noGroup("rondoGroupEnd");
    return outcome;
  }
  if (--depth_ > 0) return outcome;
  if (Communicator* const communicator = soleCommunicator()) {
    Member member = std::move(members_.front());
    members_.clear();
    outcome.status = runAlone(*communicator, std::move(member.calls));
    if (!outcome.status.ok()) outcome.members.push_back(member.comm);
    return outcome;
  }
  std::vector<Member> members = std::exchange(members_, {});
  outcome.status = std::exchange(refused_, {});
  std::vector<StreamParts> groups;
  for (const Member& member : members) {
    outcome.members.push_back(member.comm);
    if (!outcome.status.ok()) continue;
    const Result<bool> sorted = sortIn(member, groups);
    outcome.status = sorted.status();
    outcome.inProgress |= sorted.ok() && *sorted;
  }
  if (outcome.status.ok()) outcome.status = checkDevices(groups);
  if (outcome.status.ok()) {
    outcome.status = carryOut(std::move(groups));
    return outcome;
  }
  outcome.inProgress = false;
  for (const Member& member : members)
    reject(member.comm, member.calls, outcome.status);
  return outcome;
}

Status CallGroup::runMessage(Communicator& communicator,
                             const MessageCall& call,
                             HostStream* stream,
                             rondoStream_t onDevice) {
  if (communicator.onDevice()) {
    if (stream == nullptr) return communicator.runMessages(std::span(&call, 1), onDevice);
    issueMessages(communicator, {call}, onDevice, *stream);
    return {};
  }
  GroupCalls calls = std::exchange(spare_, {});
  calls.messages.push_back(call);
  if (stream == nullptr) return runAlone(communicator, std::move(calls));
  std::vector<GroupPart> parts(1);
  parts.front().communicator = &communicator;
  parts.front().calls = std::move(calls);
  stream->enqueue(GroupTask(std::move(parts)));
  return {};
}

}  // namespace rondo
