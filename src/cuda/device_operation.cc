#include "src/cuda/device_operation.h"

#include <algorithm>

#include "collectives/any_schedule.h"

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

Status checkPeers(const AnySchedule& schedule, const AlgorithmInfo& info) {
  const int most = std::max(schedule.recvPeers(), schedule.sendPeers());
  if (most <= device::kMaxStepPeers) return {};
  return Status::notSupported(
      "{} of {} has {} peers, and a kernel serves at most {}: choose another algorithm", info.name,
      collectiveName(info.collective), most, device::kMaxStepPeers);
}

/// The lane of one channel; its tables are added to those of `operation`.
Result<device::Lane> bindLane(const AnySchedule& schedule,
                              const ScheduleArgs& args,
                              const Device& device,
                              DeviceEnds& ends,
                              DeviceOperation& operation) {
  std::vector<device::End*> send;
  for (int entry = 0; entry < schedule.sendPeers(); ++entry) {
    const Result<device::End*> end = ends.sendEnd(schedule.sendPeer(entry), args.channel);
    RONDO_RETURN_IF_ERROR(end.status());
    send.push_back(*end);
  }
  std::vector<device::End*> recv;
  for (int entry = 0; entry < schedule.recvPeers(); ++entry) {
    const Result<device::End*> end = ends.recvEnd(schedule.recvPeer(entry), args.channel);
    RONDO_RETURN_IF_ERROR(end.status());
    recv.push_back(*end);
  }
  device::Lane lane;
  lane.algorithm = operation.plan.algorithm;
  lane.schedule = args;
  for (const auto& [table, place] : {std::pair(&send, &lane.send), std::pair(&recv, &lane.recv)}) {
    Result<Memory> copy = tableOf(*table, device);
    RONDO_RETURN_IF_ERROR(copy.status());
    *place = copy->onDevice<device::End*>();
    operation.tables.push_back(*std::move(copy));
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

Result<device::End*> DeviceEnds::sendEnd(int peer, int channel) {
  const Key key{peer, channel};
  if (const auto found = sends_.find(key); found != sends_.end())
    return found->second.onDevice<device::End>();
  return keep(sends_, key, links_->sendEnd(rank_, peer, channel));
}

Result<device::End*> DeviceEnds::recvEnd(int peer, int channel) {
  const Key key{peer, channel};
  if (const auto found = recvs_.find(key); found != recvs_.end())
    return found->second.onDevice<device::End>();
  return keep(recvs_, key, links_->recvEnd(peer, rank_, channel));
}

Result<device::End*> DeviceEnds::keep(Ends& ends, Key key, const Result<device::End>& end) {
  RONDO_RETURN_IF_ERROR(end.status());
  Result<Memory> memory = device_->copyOf(&*end, sizeof(device::End));
  RONDO_RETURN_IF_ERROR(memory.status());
  return ends.emplace(key, *std::move(memory)).first->second.onDevice<device::End>();
}

void DeviceEnds::leaveBehind() {
  for (Ends* ends : {&sends_, &recvs_}) {
    for (auto& [key, memory] : *ends)
      memory.leaveBehind();
  }
}

void DeviceOperation::leaveBehind() {
  lanes.leaveBehind();
  reports.leaveBehind();
  for (Memory& table : tables)
    table.leaveBehind();
}

device::Protocol chooseProtocol(const PlanRequest& request,
                                int ranks,
                                std::optional<device::Protocol> forced) {
  // A line that carries nothing cannot be waited for, and a step may have half as many rows as
  // there are ranks.
  if (request.count == 0 || request.collective == Collective::kBarrier ||
      ranks > 2 * static_cast<int>(device::kMaxLineRows))
    return device::Protocol::kStaged;
  if (forced.has_value()) return *forced;
  const bool blocks = request.collective == Collective::kReduceScatter ||
                      request.collective == Collective::kAllGather;
  const std::size_t bytes =
      request.count * elementBytes(request.type) * (blocks ? static_cast<std::size_t>(ranks) : 1);
  return bytes <= kMostInLines ? device::Protocol::kLines : device::Protocol::kStaged;
}

/// Blocks that are not there wait for those that are, which wait for them.
Status checkResidency(const Plan& plan, int sharing, const Device& device) {
  if (plan.channels * sharing <= device.residentBlocks()) return {};
  return Status::notSupported(
      "{} channels of {} ranks on {}, which runs {} blocks at a time: use fewer channels "
      "(RONDO_CHANNELS) or fewer ranks per device",
      plan.channels, sharing, device.name(), device.residentBlocks());
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
    RONDO_RETURN_IF_ERROR(checkPeers(schedule, algorithmInfo(plan.algorithm)));
    Result<device::Lane> lane = bindLane(schedule, args, device, ends, operation);
    RONDO_RETURN_IF_ERROR(lane.status());
    lane->report = operation.reports.onDevice<device::Report>() + channel;
    lanes.push_back(*lane);
  }
  Result<Memory> table = tableOf(lanes, device);
  RONDO_RETURN_IF_ERROR(table.status());
  operation.lanes = *std::move(table);
  return operation;
}

}  // namespace rondo::cuda
