#include "src/cuda/coded_operation.h"

#include <algorithm>
#include <span>
#include <utility>

#include "collectives/any_schedule.h"
#include "collectives/coded.h"
#include "kernels/cuda/coded_launch.h"
#include "src/coded_blocks.h"

namespace rondo::cuda {

namespace {

/// A copy of a table in device memory, which `operation` keeps.
template <class T>
Result<T*> keepTable(const std::vector<T>& table,
                     const Device& device,
                     DeviceOperation& operation) {
  if (table.empty()) return static_cast<T*>(nullptr);
  Result<Memory> memory = device.copyOf(table.data(), table.size() * sizeof(T));
  RONDO_RETURN_IF_ERROR(memory.status());
  T* const onDevice = memory->template onDevice<T>();
  operation.tables.push_back(*std::move(memory));
  return onDevice;
}

Result<BlockView> placeMap(const host::BlockMap& map,
                           const Device& device,
                           DeviceOperation& operation) {
  const Result<BlockTensor*> table = keepTable(map.tensors(), device, operation);
  RONDO_RETURN_IF_ERROR(table.status());
  BlockView onDevice = map.view();
  onDevice.tensors = *table;
  return onDevice;
}

/// Adds what this rank sends by `schedule`, in a reduce-scatter a word to each other rank, too, and
/// what it adds up.
void countLane(const AnySchedule& schedule,
               const CollectiveCall& call,
               const CodedBlocks& blocks,
               DeviceOperation& operation) {
  const std::size_t size = schedule.size();
  operation.firstResults.push_back(operation.codedResults);
  for (std::size_t index = 0; index < size; ++index) {
    const Step step = schedule.step(index);
    const std::size_t first = firstCodedBlock(call.collective, step);
    const std::size_t elems = blocks.map().elemsOf(first, step.elems).elems;
    const auto receivers = static_cast<std::uint64_t>(step.send.count);
    operation.wireBytes += receivers * encodedBytes(call.compression->codec, step.elems, elems);
    operation.plainBytes += receivers * elems * elementBytes(call.type);
    if (step.last && call.collective == Collective::kAllReduce) operation.codedResults += elems;
  }
  if (call.collective == Collective::kReduceScatter && size > 0)
    operation.wireBytes += static_cast<std::uint64_t>(schedule.sendPeers());
}

/// What all lanes have in common.
Result<device::CodedLane> sharedLane(const CollectiveCall& call,
                                     const CodedBlocks& blocks,
                                     int rank,
                                     const Device& device,
                                     DeviceOperation& operation) {
  const std::size_t ownFirst = static_cast<std::size_t>(rank) * call.count;
  device::CodedLane lane;
  lane.codec = call.compression->codec;
  lane.type = call.type;
  lane.collective = call.collective;
  lane.inputOrigin = call.collective == Collective::kAllGather ? ownFirst : 0;
  lane.outputOrigin = call.collective == Collective::kReduceScatter ? ownFirst : 0;
  const Result<BlockView> map = placeMap(blocks.map(), device, operation);
  RONDO_RETURN_IF_ERROR(map.status());
  lane.map = *map;
  return lane;
}

/// Gives each lane a CodedLane, with room for sums of its own.
Status placeLanes(const device::CodedLane& shared,
                  const Device& device,
                  DeviceOperation& operation) {
  Result<Memory> verdicts =
      device.allocateOnHost(operation.laneTable.size() * sizeof(std::uint64_t));
  RONDO_RETURN_IF_ERROR(verdicts.status());
  operation.verdicts = *std::move(verdicts);
  const std::size_t mostElems = operation.plan.chunkElems * shared.map.blockElems;
  std::vector<device::CodedLane> lanes(operation.laneTable.size(), shared);
  for (std::size_t channel = 0; channel < lanes.size(); ++channel) {
    lanes[channel].nonFinite = operation.verdicts.onDevice<std::uint64_t>() + channel;
    if (shared.collective != Collective::kAllReduce) continue;
    Result<Memory> sums = device.allocate(mostElems * sizeof(float));
    RONDO_RETURN_IF_ERROR(sums.status());
    lanes[channel].sums = sums->onDevice<float>();
    operation.tables.push_back(*std::move(sums));
  }
  Result<Memory> table = device.copyOf(lanes.data(), lanes.size() * sizeof(device::CodedLane));
  RONDO_RETURN_IF_ERROR(table.status());
  operation.codedTable = *std::move(table);
  auto* const onDevice = operation.codedTable.onDevice<device::CodedLane>();
  for (std::size_t channel = 0; channel < lanes.size(); ++channel)
    operation.laneTable[channel].scratch = reinterpret_cast<std::byte*>(onDevice + channel);
  operation.codedLanes = std::move(lanes);
  return {};
}

/// The ranks' parts, of unequal numbers of blocks, as kernels find them.
Result<Layout> placeLayout(const CodedBlocks& blocks,
                           const Device& device,
                           DeviceOperation& operation) {
  const Result<std::size_t*> counts = keepTable(blocks.counts(), device, operation);
  RONDO_RETURN_IF_ERROR(counts.status());
  const Result<std::size_t*> offsets = keepTable(blocks.offsets(), device, operation);
  RONDO_RETURN_IF_ERROR(offsets.status());
  return Layout(*counts, *offsets);
}

}  // namespace

Result<DeviceOperation> bindCodedOperation(const CollectiveCall& call,
                                           const PlanRequest& request,
                                           const Plan& plan,
                                           int ranks,
                                           int rank,
                                           const Device& device,
                                           DeviceEnds& ends) {
  const CodedBlocks blocks(call, ranks);
  PlanRequest inBlocks = request;
  inBlocks.count = blocks.scheduleCount();
  Result<DeviceOperation> operation = bindOperation(inBlocks, plan, ranks, rank, device, ends);
  RONDO_RETURN_IF_ERROR(operation.status());
  operation->request = request;
  operation->tensors.assign(call.compression->tensors.begin(), call.compression->tensors.end());
  const Result<device::CodedLane> shared = sharedLane(call, blocks, rank, device, *operation);
  RONDO_RETURN_IF_ERROR(shared.status());
  RONDO_RETURN_IF_ERROR(placeLanes(*shared, device, *operation));
  Result<Layout> layout = Layout();
  if (!blocks.uniform()) layout = placeLayout(blocks, device, *operation);
  RONDO_RETURN_IF_ERROR(layout.status());
  for (device::Lane& lane : operation->laneTable) {
    ScheduleArgs args = lane.schedule;
    if (!blocks.uniform()) {
      args.layout = args.outputLayout = blocks.layout();
      lane.schedule.layout = lane.schedule.outputLayout = *layout;
    }
    countLane(AnySchedule(plan.algorithm, args), call, blocks, *operation);
  }
  RONDO_RETURN_IF_ERROR(device.copyIn(operation->lanes, operation->laneTable.data(),
                                      operation->laneTable.size() * sizeof(device::Lane)));
  return operation;
}

Status placeResiduals(const host::Residuals& residuals,
                      const Device& device,
                      DeviceOperation& operation) {
  for (std::size_t channel = 0; channel < operation.codedLanes.size(); ++channel) {
    device::CodedLane& lane = operation.codedLanes[channel];
    lane.contributionResiduals = residuals.contribution;
    lane.resultResiduals = residuals.result + operation.firstResults[channel];
  }
  return device.copyIn(operation.codedTable, operation.codedLanes.data(),
                       operation.codedLanes.size() * sizeof(device::CodedLane));
}

}  // namespace rondo::cuda
