#include "src/stream_task.h"

#include <algorithm>
#include <utility>

#include "src/communicator.h"

namespace rondo {

CollectiveTask::CollectiveTask(Communicator& communicator, const CollectiveCall& call)
    : communicator_(&communicator), place_(communicator.order()), call_(call, nullptr) {}

Status CollectiveTask::run() {
  const OperationOrder::Turn turn = place_.waitTurn();
  if (!turn.given()) return turn.closed();
  return communicator_->runInTurn(call_.call());
}

GroupTask::GroupTask(std::vector<GroupPart> parts) : parts_(std::move(parts)) {}

void GroupTask::issue() {
  for (GroupPart& part : parts_)
    part.place.emplace(part.communicator->order()).issue();
}

}  // namespace rondo
