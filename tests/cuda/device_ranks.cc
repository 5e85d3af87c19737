#include "tests/cuda/device_ranks.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "collectives/any_schedule.h"
#include "kernels/cuda/executor.h"
#include "kernels/cuda/lines.h"
#include "kernels/cuda/wide_lines.h"
#include "tests/cuda/entry_kernels.h"
#include "transports/connection.h"

namespace rondo::testing {

/// What lines are aligned to.
struct alignas(device::kWideLineBytes) WideLine {
  std::array<device::Pack, device::kWideLinePacks> packs;
};

/// The memory of a connection, and both its ends.
struct DeviceRanks::Wire {
  explicit Wire(const DeviceShape& shape)
      : slots(shape.slotBytes * shape.slotCount / sizeof(device::Pack), shape.memory),
        lines(device::End::linesPerSlot(shape.slotBytes) * shape.slotCount / device::kWideLinePacks,
              shape.memory) {
    device::End end;
    end.tail = &tail.value;
    end.head = &head.value;
    end.entries = entries.data();
    end.slots = reinterpret_cast<std::byte*>(slots.data());
    end.lines = lines.front().packs.data();
    end.slotBytes = static_cast<std::uint32_t>(shape.slotBytes);
    end.slotCount = shape.slotCount;
    send = recv = end;
    jumpTo(shape.firstPosition);
  }

  void jumpTo(std::uint64_t position) {
    tail.value = head.value = send.position = recv.position = position;
  }

  CounterLine tail;
  CounterLine head;
  std::array<SlotEntry, kMaxSlots> entries;
  std::pmr::vector<device::Pack> slots;
  std::pmr::vector<WideLine> lines;
  device::End send;
  device::End recv;
};

DeviceRanks::Wire& DeviceRanks::wire(int from, int to, int channel) {
  std::shared_ptr<Wire>& place = wires_[{from, to, channel}];
  if (place == nullptr) {
    place =
        std::allocate_shared<Wire>(std::pmr::polymorphic_allocator<Wire>(shape_.memory), shape_);
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

device::RankWork DeviceRanks::work(Operation& operation, int rank, std::uint64_t call) {
  auto lanes = std::make_unique<std::vector<device::Lane>>();
  for (int channel = 0; channel < operation.plan.channels; ++channel)
    lanes->push_back(lane(operation, rank, channel));
  RankBuffers& buffers = operation.buffers[static_cast<std::size_t>(rank)];
  device::RankWork work;
  work.lanes = lanes->data();
  work.input = buffers.in();
  work.output = buffers.out();
  work.abortFlag = &abortFlag_;
  work.call = call;
  work.scale = operation.scales[static_cast<std::size_t>(rank)];
  lanes_.push_back(std::move(lanes));
  return work;
}

void DeviceRanks::launch(const Operation& operation,
                         int firstRank,
                         std::vector<device::RankWork> works,
                         emulator::Machine& machine) {
  device::LaunchArgs args;
  const PlanRequest& request = operation.request;
  args.arithmetic = arithmeticOf(request.collective, request.type, request.op, operation.ranks);
  args.op = request.op;
  args.protocol = operation.protocol;
  args.channels = operation.plan.channels;
  std::ranges::copy(works, args.ranks);
  const EntryKernel kernel = entryKernel(operation.request.type);
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
    works.push_back(work(operation, rank, calls_));
  if (shape_.oneLaunch) {
    launch(operation, 0, std::move(works), machine);
    return;
  }
  for (int rank = 0; rank < operation.ranks; ++rank)
    launch(operation, rank, {works[static_cast<std::size_t>(rank)]}, machine);
}

void DeviceRanks::enqueueRank(Operation& operation,
                              int rank,
                              std::uint64_t call,
                              emulator::Machine& machine) {
  launch(operation, rank, {work(operation, rank, call)}, machine);
}

void DeviceRanks::abort() {
  std::atomic_ref(abortFlag_).store(1, std::memory_order_relaxed);
}

void DeviceRanks::jumpTo(std::uint64_t position) {
  for (auto& [key, wire] : wires_)
    wire->jumpTo(position);
}

void DeviceRanks::leaveLines(std::uint64_t first) {
  leave(first, false);
}

void DeviceRanks::leaveWideLines(std::uint64_t first) {
  leave(first, true);
}

void DeviceRanks::leave(std::uint64_t first, bool wide) {
  constexpr std::uint64_t kOldData = 0x41414141;
  const std::size_t perSlot = device::End::linesPerSlot(shape_.slotBytes);
  for (std::uint64_t filling = first; filling < first + shape_.slotCount; ++filling) {
    const std::uint64_t half = std::uint64_t{device::lineMark(filling)} << 32 | kOldData;
    const std::size_t slot = filling % shape_.slotCount;
    for (auto& [key, wire] : wires_) {
      device::Pack* const lines = wire->send.lines + slot * perSlot;
      std::fill_n(lines, perSlot, device::Pack{{half, half}});
      for (std::size_t i = device::kWideLinePacks - 1; wide && i < perSlot;
           i += device::kWideLinePacks)
        lines[i].half[1] = device::wideMark(device::lineMark(filling));
      for (device::End* end : {&wire->send, &wire->recv})
        end->wideSlots = wide ? end->wideSlots | std::uint64_t{1} << slot
                              : end->wideSlots & ~(std::uint64_t{1} << slot);
    }
  }
}

}  // namespace rondo::testing
