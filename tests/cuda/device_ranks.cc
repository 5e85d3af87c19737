#include "tests/cuda/device_ranks.h"

#include <algorithm>
#include <array>
#include <utility>

#include "collectives/any_schedule.h"
#include "kernels/cuda/executor.h"
#include "kernels/cuda/type_combiner.h"
#include "tests/cuda/emulated_kernels.h"
#include "transports/connection.h"

namespace rondo::testing {

namespace {

StepArithmetic arithmeticOf(const Operation& operation) {
  const PlanRequest& request = operation.request;
  if (!isReduction(request.collective)) return moveArithmetic(request.type);
  return reductionArithmetic(request.type, request.op, operation.ranks);
}

}  // namespace

/// The memory of a connection, and both its ends.
struct DeviceRanks::Wire {
  explicit Wire(const DeviceShape& shape)
      : slots(shape.slotBytes * shape.slotCount / sizeof(device::Pack)),
        lines(device::End::linesPerSlot(shape.slotBytes) * shape.slotCount) {
    tail.value = head.value = shape.firstPosition;
    device::End end;
    end.tail = &tail.value;
    end.head = &head.value;
    end.entries = entries.data();
    end.slots = reinterpret_cast<std::byte*>(slots.data());
    end.lines = lines.data();
    end.position = shape.firstPosition;
    end.slotBytes = static_cast<std::uint32_t>(shape.slotBytes);
    end.slotCount = shape.slotCount;
    send = recv = end;
  }

  CounterLine tail;
  CounterLine head;
  std::array<SlotEntry, kMaxSlots> entries;
  std::vector<device::Pack> slots;
  std::vector<device::Pack> lines;
  device::End send;
  device::End recv;
};

DeviceRanks::Wire& DeviceRanks::wire(int from, int to, int channel) {
  std::shared_ptr<Wire>& place = wires_[{from, to, channel}];
  if (place == nullptr) {
    place = std::make_shared<Wire>(shape_);
    place->send.peer = to;
    place->recv.peer = from;
  }
  return *place;
}

device::End* DeviceRanks::sendEnd(int from, int to, int channel) {
  return &wire(from, to, channel).send;
}

device::End* DeviceRanks::recvEnd(int from, int to, int channel) {
  return &wire(from, to, channel).recv;
}

device::Lane DeviceRanks::lane(const Operation& operation, int rank, int channel) {
  device::Lane lane;
  lane.algorithm = operation.plan.algorithm;
  lane.schedule = scheduleArgs(operation.plan, operation.request, operation.ranks, rank, channel);
  const AnySchedule schedule(lane.algorithm, lane.schedule);
  std::vector<device::End*> send;
  for (int entry = 0; entry < schedule.sendPeers(); ++entry)
    send.push_back(sendEnd(rank, schedule.sendPeer(entry), channel));
  std::vector<device::End*> recv;
  for (int entry = 0; entry < schedule.recvPeers(); ++entry)
    recv.push_back(recvEnd(schedule.recvPeer(entry), rank, channel));
  tables_.push_back(std::make_unique<std::vector<device::End*>>(std::move(send)));
  lane.send = tables_.back()->data();
  tables_.push_back(std::make_unique<std::vector<device::End*>>(std::move(recv)));
  lane.recv = tables_.back()->data();
  scratch_.push_back(
      std::make_unique<Bytes>(schedule.scratchElems() * elementBytes(operation.request.type)));
  lane.scratch = scratch_.back()->data();
  reports_.push_back(std::make_unique<device::Report>());
  lane.report = reports_.back().get();
  return lane;
}

device::RankWork DeviceRanks::work(Operation& operation, int rank) {
  auto lanes = std::make_unique<std::vector<device::Lane>>();
  for (int channel = 0; channel < operation.plan.channels; ++channel)
    lanes->push_back(lane(operation, rank, channel));
  RankBuffers& buffers = operation.buffers[static_cast<std::size_t>(rank)];
  device::RankWork work;
  work.lanes = lanes->data();
  work.input = buffers.in();
  work.output = buffers.output.data();
  work.abortFlag = &abortFlag_;
  work.call = calls_;
  work.scale = operation.scales[static_cast<std::size_t>(rank)];
  lanes_.push_back(std::move(lanes));
  return work;
}

void DeviceRanks::launch(const Operation& operation,
                         int firstRank,
                         std::vector<device::RankWork> works,
                         emulator::Machine& machine) {
  device::LaunchArgs args;
  args.arithmetic = arithmeticOf(operation);
  args.op = operation.request.op;
  args.protocol = operation.protocol;
  args.channels = operation.plan.channels;
  std::ranges::copy(works, args.ranks);
  const EmulatedKernel kernel = emulatedKernel(operation.request.type);
  const auto blocks = works.size() * static_cast<std::size_t>(operation.plan.channels);
  machine.launch({.name = fmt::format("rank {}", firstRank),
                  .kernel = operation.describe(),
                  .blocks = static_cast<unsigned>(blocks),
                  .threads = shape_.threads,
                  .sharedBytes = sizeof(device::BlockState)},
                 [kernel, args] { kernel(args); });
}

void DeviceRanks::enqueue(Operation& operation, emulator::Machine& machine) {
  ++calls_;
  std::vector<device::RankWork> works;
  for (int rank = 0; rank < operation.ranks; ++rank)
    works.push_back(work(operation, rank));
  if (shape_.oneLaunch) {
    launch(operation, 0, std::move(works), machine);
    return;
  }
  for (int rank = 0; rank < operation.ranks; ++rank)
    launch(operation, rank, {works[static_cast<std::size_t>(rank)]}, machine);
}

}  // namespace rondo::testing
