#include "src/stream_task.h"

#include <algorithm>
#include <utility>

#include "src/communicator.h"

namespace rondo {

CollectiveTask::CollectiveTask(Communicator& communicator,
                               const CollectiveCall& call,
                               rondoStream_t stream)
    : communicator_(&communicator), place_(communicator.order()), call_{call, stream} {}

Status CollectiveTask::run() {
  const OperationOrder::Turn turn = place_.waitTurn();
  if (!turn.given()) return turn.closed();
  return communicator_->runInTurn(call_.call, call_.stream);
}

Status InTurnTask::run() {
  if (!place_.has_value()) return work_();
  const OperationOrder::Turn turn = place_->waitTurn();
  if (turn.given()) return work_();
  if (refused_ != nullptr) refused_(turn.closed());
  return turn.closed();
}

GroupTask::GroupTask(std::vector<GroupPart> parts) : parts_(std::move(parts)) {}

void GroupTask::issue() {
  for (GroupPart& part : parts_)
    part.place.emplace(part.communicator->order()).issue();
}

}  // namespace rondo
