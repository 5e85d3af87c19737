#include "src/cuda/device_operation.h"

#include <algorithm>
#include <array>
#include <span>

#include "collectives/any_schedule.h"
#include "collectives/buffers.h"
#include "src/prepared_operation.h"

namespace rondo::cuda {

namespace {

/// The largest data that one rank sends in lines, which carry as many marks as data but cost no
/// fence. Not measured yet: the size where NCCL's tables change over on one host.
constexpr std::size_t kMostInLines = 64 << 10;

/// A copy of a table in device memory.
template <class T>
Result<Memory> tableOf(const std::vector<T>& table, const Device& device) {
  if (table.empty()) return Memory();
  return device.copyOf(table.data(), table.size() * sizeof(T));
}

/// The ends of one table of a schedule, in its order.
template <class PeerOf>
std::vector<EndName> namesOf(int peers, const PeerOf& peerOf, int channel, bool sends) {
  std::vector<EndName> names;
  for (int entry = 0; entry < peers; ++entry)
    names.push_back({peerOf(entry), channel, sends});
  return names;
}

std::vector<EndName> sendEnds(const AnySchedule& schedule, int channel) {
  return namesOf(
      schedule.sendPeers(), [&](int entry) { return schedule.sendPeer(entry); }, channel, true);
}

std::vector<EndName> recvEnds(const AnySchedule& schedule, int channel) {
  return namesOf(
      schedule.recvPeers(), [&](int entry) { return schedule.recvPeer(entry); }, channel, false);
}

/// A table of a lane: where the ends are.
Result<Memory> tableOfEnds(const std::vector<EndName>& names,
                           const Device& device,
                           DeviceEnds& ends) {
  std::vector<device::End*> table;
  for (const EndName& name : names) {
    const Result<device::End*> end = ends.find(name);
    RONDO_RETURN_IF_ERROR(end.status());
    table.push_back(*end);
  }
  return tableOf(table, device);
}

/// The lane of one channel; its tables are added to those of `operation`.
Result<device::Lane> bindLane(const AnySchedule& schedule,
                              const ScheduleArgs& args,
                              const Device& device,
                              DeviceEnds& ends,
                              DeviceOperation& operation) {
  device::Lane lane;
  lane.algorithm = operation.plan.algorithm;
  lane.schedule = args;
  const std::vector<EndName> send = sendEnds(schedule, args.channel);
  const std::vector<EndName> recv = recvEnds(schedule, args.channel);
  for (const auto& [names, place] : {std::pair(&send, &lane.send), std::pair(&recv, &lane.recv)}) {
    Result<Memory> table = tableOfEnds(*names, device, ends);
    RONDO_RETURN_IF_ERROR(table.status());
    *place = table->onDevice<device::End*>();
    operation.tables.push_back(*std::move(table));
  }
  const std::size_t scratchBytes = schedule.scratchElems() * operation.arithmetic.elemBytes;
  if (scratchBytes == 0) return lane;
  Result<Memory> scratch = device.allocate(scratchBytes);
  RONDO_RETURN_IF_ERROR(scratch.status());
  lane.scratch = scratch->onDevice<std::byte>();
  operation.tables.push_back(*std::move(scratch));
  return lane;
}

}  // namespace

Result<device::End*> DeviceEnds::find(const EndName& name) {
  if (const auto found = ends_.find(name); found != ends_.end())
    return found->second.onDevice<device::End>();
  Result<Memory> memory = device_->copyOf(&links_.end(name), sizeof(device::End));
  RONDO_RETURN_IF_ERROR(memory.status());
  return ends_.emplace(name, *std::move(memory)).first->second.onDevice<device::End>();
}

void DeviceEnds::leaveBehind() {
  for (auto& [name, memory] : ends_)
    memory.leaveBehind();
}

void DeviceOperation::leaveBehind() {
  lanes.leaveBehind();
  reports.leaveBehind();
  codedTable.leaveBehind();
  verdicts.leaveBehind();
  blocks.leaveBehind();
  for (Memory& table : tables)
    table.leaveBehind();
}

bool DeviceOperation::fits(const CollectiveCall& call) const {
  return !isCoded() || std::ranges::equal(tensors, call.compression->tensors);
}

bool DeviceOperation::nonFinite() const {
  const std::span words(verdicts.onHost<const std::uint64_t>(), codedLanes.size());
  return std::ranges::any_of(words, [](std::uint64_t word) { return word != 0; });
}

device::Protocol chooseProtocol(const PlanRequest& request,
                                int ranks,
                                bool carriesLines,
                                std::optional<device::Protocol> forced) {
  // A line that carries nothing cannot be waited for, and a step may have half as many rows as
  // there are ranks.
  const bool suits = request.count > 0 && request.collective != Collective::kBarrier &&
                     ranks <= 2 * static_cast<int>(device::kMaxLineRows);
  const bool reducible =
      !isReduction(request.collective) || device::reducesInLines(request.type, request.op);
  if (!carriesLines || !suits || !reducible || request.varied) return device::Protocol::kStaged;
  if (forced.has_value()) return *forced;
  const std::size_t bytes =
      request.count * elementBytes(request.type) * mostBlocks(request.collective, ranks);
  return bytes <= kMostInLines ? device::Protocol::kLines : device::Protocol::kStaged;
}

std::vector<EndName> endsOf(const PlanRequest& request, const Plan& plan, int ranks, int rank) {
  std::vector<EndName> names;
  for (int channel = 0; channel < plan.channels; ++channel) {
    const AnySchedule schedule(plan.algorithm, scheduleArgs(plan, request, ranks, rank, channel));
    for (const auto& table : {sendEnds(schedule, channel), recvEnds(schedule, channel)})
      names.insert(names.end(), table.begin(), table.end());
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

Status checkPeers(const PlanRequest& request, const Plan& plan, int ranks, int rank) {
  const AnySchedule schedule(plan.algorithm, scheduleArgs(plan, request, ranks, rank, 0));
  const int most = std::max(schedule.recvPeers(), schedule.sendPeers());
  if (most <= device::kMaxStepPeers) return {};
  const AlgorithmInfo& info = algorithmInfo(plan.algorithm);
  return Status::notSupported(
      "{} of {} has {} peers, and a kernel serves at most {}: choose another algorithm", info.name,
      collectiveName(info.collective), most, device::kMaxStepPeers);
}

/// Blocks that are not there wait for those that are, which wait for them.
Status checkResidency(const Plan& plan, int sharing, const Device& device) {
  if (plan.channels * sharing <= device.residentBlocks()) return {};
  return Status::notSupported(
      "{} channels of {} ranks on {}, which runs {} blocks at a time: use fewer channels "
      "(RONDO_CHANNELS) or fewer ranks per device",
      plan.channels, sharing, device.name(), device.residentBlocks());
}

namespace {

/// The arrays of a call in the order of DeviceOperation::blockValues.
std::array<const std::size_t**, 4> arraysOf(CollectiveCall& call) {
  return {&call.sendBlocks.counts, &call.sendBlocks.offsets, &call.recvBlocks.counts,
          &call.recvBlocks.offsets};
}

}  // namespace

std::vector<std::size_t> blockValuesOf(const CollectiveCall& call, int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  CollectiveCall copy = call;
  std::vector<std::size_t> values;
  for (const std::size_t** array : arraysOf(copy)) {
    for (std::size_t rank = 0; rank < count; ++rank)
      values.push_back(*array == nullptr ? 0 : (*array)[rank]);
  }
  values.push_back(call.ownCount);
  return values;
}

Status putBlocks(const CollectiveCall& call,
                 int ranks,
                 const Device& device,
                 DeviceOperation& operation) {
  std::vector<std::size_t> values = blockValuesOf(call, ranks);
  const std::size_t bytes = values.size() * sizeof(std::size_t);
  RONDO_RETURN_IF_ERROR(device.copyIn(operation.blocks, values.data(), bytes));
  CollectiveCall onDevice = call;
  std::size_t place = 0;
  for (const std::size_t** array : arraysOf(onDevice)) {
    if (*array != nullptr) *array = operation.blocks.onDevice<const std::size_t>() + place;
    place += static_cast<std::size_t>(ranks);
  }
  for (device::Lane& lane : operation.laneTable)
    setBlocks(onDevice, lane.schedule);
  operation.blockValues = std::move(values);
  return device.copyIn(operation.lanes, operation.laneTable.data(),
                       operation.laneTable.size() * sizeof(device::Lane));
}

Result<DeviceOperation> bindOperation(const PlanRequest& request,
                                      const Plan& plan,
                                      int ranks,
                                      int rank,
                                      const Device& device,
                                      DeviceEnds& ends) {
  DeviceOperation operation;
  operation.request = request;
  operation.plan = plan;
  operation.arithmetic = arithmeticOf(request.collective, request.type, request.op, ranks);
  const auto channels = static_cast<std::size_t>(plan.channels);
  Result<Memory> reports = device.allocateOnHost(channels * sizeof(device::Report));
  RONDO_RETURN_IF_ERROR(reports.status());
  operation.reports = *std::move(reports);
  std::vector<device::Lane> lanes;
  for (int channel = 0; channel < plan.channels; ++channel) {
    const ScheduleArgs args = scheduleArgs(plan, request, ranks, rank, channel);
    const AnySchedule schedule(plan.algorithm, args);
    Result<device::Lane> lane = bindLane(schedule, args, device, ends, operation);
    RONDO_RETURN_IF_ERROR(lane.status());
    lane->report = operation.reports.onDevice<device::Report>() + channel;
    lanes.push_back(*lane);
  }
  Result<Memory> table = tableOf(lanes, device);
  RONDO_RETURN_IF_ERROR(table.status());
  operation.lanes = *std::move(table);
  operation.laneTable = std::move(lanes);
  if (!request.varied) return operation;
  Result<Memory> blocks =
      device.allocate((4 * static_cast<std::size_t>(ranks) + 1) * sizeof(std::size_t));
  RONDO_RETURN_IF_ERROR(blocks.status());
  operation.blocks = *std::move(blocks);
  return operation;
}

}  // namespace rondo::cuda
