#include "transports/cuda_ipc/process_links.h"

#include <utility>

#include "src/log.h"

namespace rondo::cuda {

namespace {

/// Where the parts of a connection lie in the receiver's memory.
struct Layout {
  explicit Layout(SlotShape shape)
      : entries(sizeof(CounterLine)),
        slots(entries + kMaxSlots * sizeof(SlotEntry)),
        lines(ceilDiv(slots + shape.bytes * shape.count, device::kWideLineBytes) *
              device::kWideLineBytes),
        bytes(lines + device::End::linesPerSlot(shape.bytes) * shape.count * sizeof(device::Pack)) {
  }

  std::size_t entries;
  std::size_t slots;
  std::size_t lines;
  std::size_t bytes;
};

}  // namespace

ProcessLinks::ProcessLinks(std::vector<std::shared_ptr<const Device>> devices, SlotShape slots)
    : devices_(std::move(devices)), slots_(slots) {}

Result<device::End> ProcessLinks::sendEnd(int from, int to, int channel) {
  const Result<const Wire*> made = wire(from, to, channel);
  RONDO_RETURN_IF_ERROR(made.status());
  return endOf(**made, to);
}

Result<device::End> ProcessLinks::recvEnd(int from, int to, int channel) {
  const Result<const Wire*> made = wire(from, to, channel);
  RONDO_RETURN_IF_ERROR(made.status());
  return endOf(**made, from);
}

Result<const ProcessLinks::Wire*> ProcessLinks::wire(int from, int to, int channel) {
  const std::scoped_lock lock(mutex_);
  const Key key{from, to, channel};
  if (const auto found = wires_.find(key); found != wires_.end()) return &found->second;
  Result<Wire> made = makeWire(from, to);
  RONDO_RETURN_IF_ERROR(made.status());
  return &wires_.emplace(key, *std::move(made)).first->second;
}

Result<ProcessLinks::Wire> ProcessLinks::makeWire(int from, int to) {
  const Device& sender = device(from);
  const Device& receiver = device(to);
  const Result<bool> near = reachEachOther(sender, receiver);
  RONDO_RETURN_IF_ERROR(near.status());
  const auto allocate = [&](const Device& owner, std::size_t bytes) {
    return *near ? owner.allocate(bytes) : owner.allocateOnHost(bytes);
  };
  Result<Memory> received = allocate(receiver, Layout(slots_).bytes);
  RONDO_RETURN_IF_ERROR(received.status());
  Result<Memory> credits = allocate(sender, sizeof(CounterLine));
  RONDO_RETURN_IF_ERROR(credits.status());
  return Wire{*std::move(received), *std::move(credits)};
}

Result<bool> ProcessLinks::reachEachOther(const Device& one, const Device& other) {
  const Result<bool> forth = one.reach(other);
  RONDO_RETURN_IF_ERROR(forth.status());
  const Result<bool> back = other.reach(one);
  RONDO_RETURN_IF_ERROR(back.status());
  if (*forth && *back) return true;
  if (!std::exchange(saidFar_, true)) {
    RONDO_LOG(kWarn, kTransport,
              "{} and {} cannot use each other's memory (no NVLink or PCIe peer access); what "
              "crosses between such devices goes through pinned memory of the host",
              one.name(), other.name());
  }
  return false;
}

device::End ProcessLinks::endOf(const Wire& wire, int peer) const {
  const Layout layout(slots_);
  std::byte* received = wire.received.onDevice<std::byte>();
  device::End end;
  end.tail = reinterpret_cast<std::uint64_t*>(received);
  end.head = wire.credits.onDevice<std::uint64_t>();
  end.entries = reinterpret_cast<SlotEntry*>(received + layout.entries);
  end.slots = received + layout.slots;
  end.lines = reinterpret_cast<device::Pack*>(received + layout.lines);
  end.slotBytes = static_cast<std::uint32_t>(slots_.bytes);
  end.slotCount = slots_.count;
  end.peer = peer;
  return end;
}

std::size_t ProcessLinks::memoryBytes() const {
  const std::scoped_lock lock(mutex_);
  return wires_.size() * (Layout(slots_).bytes + sizeof(CounterLine));
}

void ProcessLinks::leaveBehind() {
  const std::scoped_lock lock(mutex_);
  for (auto& [key, wire] : wires_) {
    wire.received.leaveBehind();
    wire.credits.leaveBehind();
  }
}

}  // namespace rondo::cuda
