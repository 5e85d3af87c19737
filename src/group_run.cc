#include "src/group_run.h"

#include <algorithm>
#include <cstddef>
#include <list>
#include <memory_resource>
#include <new>
#include <utility>

namespace rondo {

namespace {

/// Those of a group that has begun.
using Members = std::pmr::list<GroupMember>;

/// Room for so many of them that groups need no other memory.
constexpr std::size_t kMembersInPlace = 8;

/// Sleeps of a thread that waits for several ranks: it can sleep at one of their doors only.
constexpr std::chrono::microseconds kSharedNap{100};

/// The wait places of several ranks as one.
class GroupPlace final : public host::WaitPlace {
 public:
  explicit GroupPlace(Members& members) : members_(&members) {}

  bool progress() override { return false; }  // members see to that in their steps

  bool flushed() const override { return true; }

  void prepareSleep() override { members_->front().place().prepareSleep(); }

  void stayAwake() override { members_->front().place().stayAwake(); }

  void sleep(std::chrono::microseconds atMost) override {
    members_->front().place().sleep(members_->size() == 1 ? atMost : std::min(atMost, kSharedNap));
  }

 private:
  Members* members_;
};

/// One turn of every member that is not done.
struct GroupTurn {
  bool moved = false;
  bool finished = true;
};

Result<GroupTurn> takeTurn(Members& members) {
  GroupTurn turn;
  for (GroupMember& member : members) {
    if (member.done()) continue;
    const Result<bool> moved = member.step();
    RONDO_RETURN_IF_ERROR(moved.status());
    turn.moved |= *moved;
    turn.finished &= member.done();
  }
  return turn;
}

Status drive(Members& members) {
  std::uint32_t neverRaised = 0;  // members look at their own flags
  GroupPlace place(members);
  host::Waiter waiter(members.front().policy(), neverRaised, place);
  for (;;) {
    const Result<GroupTurn> turn = takeTurn(members);
    RONDO_RETURN_IF_ERROR(turn.status());
    if (turn->finished) return {};
    if (turn->moved) {
      waiter.progressed();
      continue;
    }
    if (waiter.pause() != host::WaitResult::kCheckPeers) continue;
    for (GroupMember& member : members)
      RONDO_RETURN_IF_ERROR(member.check(waiter));
  }
}

/// Waits for the turns of all, in one order in all threads, so that two groups never wait for each
/// other's communicators.
Status enter(std::span<GroupPart> parts, Members& members) {
  std::ranges::sort(parts, {}, &GroupPart::communicator);
  for (GroupPart& part : parts) {
    OperationOrder::Turn turn =
        part.place.has_value() ? part.place->waitTurn() : part.communicator->order()->waitTurn();
    if (!turn.given()) return turn.closed();
    members.emplace_back(*part.communicator, part.calls, std::move(turn));
  }
  return {};
}

Status begin(Members& members) {
  for (GroupMember& member : members)
    RONDO_RETURN_IF_ERROR(member.begin());
  return {};
}

Status run(std::span<GroupPart> parts, Members& members) try {
  RONDO_RETURN_IF_ERROR(enter(parts, members));
  RONDO_RETURN_IF_ERROR(begin(members));
  return drive(members);

} catch (const std::bad_alloc&) {  // while planning

  return Status::outOfMemory("no memory for the calls of a group");
}

}  // namespace

Status runGroup(std::span<GroupPart> parts) {
  if (parts.empty()) return {};
  alignas(GroupMember) std::byte room[kMembersInPlace * (sizeof(GroupMember) + 2 * sizeof(void*))];
  std::pmr::monotonic_buffer_resource memory(room, sizeof room);
  Members members(&memory);
  Status status = run(parts, members);
  if (status.ok()) return status;
  // What loses only calls comes before anything is sent.
  const bool nothingBegun = losesOnlyTheCall(status.code());
  for (GroupMember& member : members) {
    if (nothingBegun) {
      member.reject(status);
    } else {
      member.giveUp(status);
    }
  }
  return status;
}

Status driveInTurn(Communicator& communicator, const GroupCalls& calls) {
  Members members(std::pmr::get_default_resource());
  members.emplace_back(communicator, calls, std::nullopt);
  RONDO_RETURN_IF_ERROR(begin(members));
  return drive(members);
}

}  // namespace rondo
