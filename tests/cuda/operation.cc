#include "tests/cuda/operation.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>

#include "collectives/any_schedule.h"
#include "collectives/buffers.h"
#include "kernels/arithmetic.h"
#include "kernels/host/lane.h"
#include "src/check.h"
#include "tests/collective/test_inputs.h"

namespace rondo::testing {

namespace {

constexpr std::byte kUntouched{0xcd};

/// Bytes behind each output: a pack that is stored whole is seen.
constexpr std::size_t kMarginBehind = sizeof(device::Pack);

/// Of every rank as if it were the root: what is not used must stay as it is.
std::size_t inputElems(const PlanRequest& request, int ranks) {
  return request.count * inputBlocks(request.collective, {request.root, ranks, request.root});
}

std::size_t outputElems(const PlanRequest& request, int ranks) {
  return request.count * outputBlocks(request.collective, {request.root, ranks, request.root});
}

PlanRequest requestOf(const OperationShape& shape) {
  PlanRequest request;
  request.collective = algorithmInfo(shape.algorithm).collective;
  request.count = request.collective == Collective::kBarrier ? 0 : shape.count;
  request.type = shape.type;
  request.op = isReduction(request.collective) ? shape.op : ReduceOp::kSum;
  request.root = hasRoot(request.collective) ? shape.root : 0;
  return request;
}

Result<Plan> planOf(const OperationShape& shape) {
  const PlanRequest request = requestOf(shape);
  PlanFacts facts;
  facts.ranks = shape.ranks;
  facts.cpus = shape.ranks;
  facts.slotBytes = shape.slotBytes;
  facts.slotCount = shape.slotCount;
  PlanSettings settings;
  settings.channels = shape.channels;
  settings.rules = {{.algorithm = shape.algorithm}};
  return makePlan(request, facts, settings);
}

RankBuffers makeBuffers(const OperationShape& shape,
                        const PlanRequest& request,
                        int rank,
                        std::uint64_t seed) {
  const std::size_t elemBytes = elementBytes(request.type);
  const std::size_t inputBytes = inputElems(request, shape.ranks) * elemBytes;
  const std::size_t outputBytes = outputElems(request, shape.ranks) * elemBytes;
  RankBuffers buffers;
  buffers.margin = shape.shiftElems * elemBytes;
  buffers.input.assign(buffers.margin, kUntouched);
  const Bytes input =
      makeInput(request.type, InputKind::kOrdinary, inputElems(request, shape.ranks),
                seed + static_cast<std::uint64_t>(rank));
  buffers.input.insert(buffers.input.end(), input.begin(), input.end());
  const std::size_t bytes = std::max(outputBytes, shape.inPlace ? inputBytes : 0);
  buffers.output.assign(buffers.margin + bytes + kMarginBehind, kUntouched);
  buffers.inPlace = shape.inPlace;
  if (!shape.inPlace) return buffers;
  if (inputBytes < outputBytes) buffers.inputOffset = static_cast<std::size_t>(rank) * inputBytes;
  std::ranges::copy(input, buffers.out() + buffers.inputOffset);
  return buffers;
}

/// All connections of host ranks that run in one thread.
class HostWires {
 public:
  HostWires(std::size_t slotBytes, std::uint32_t slotCount)
      : slotBytes_(slotBytes), slotCount_(slotCount) {}

  SendEnd* sendEnd(int from, int to, int channel) { return &wire(from, to, channel).send; }

  RecvEnd* recvEnd(int from, int to, int channel) { return &wire(from, to, channel).recv; }

 private:
  struct Wire {
    Wire(int from, int to, std::size_t slotBytes, std::uint32_t slotCount)
        : slots(slotBytes * slotCount),
          send(memory(slotBytes, slotCount), to),
          recv(memory(slotBytes, slotCount), from) {}

    ConnectionMemory memory(std::size_t slotBytes, std::uint32_t slotCount) {
      return {.control = &control,
              .slots = slots.data(),
              .slotBytes = slotBytes,
              .slotCount = slotCount};
    }

    ConnectionControl control;
    Bytes slots;
    SendEnd send;
    RecvEnd recv;
  };

  Wire& wire(int from, int to, int channel) {
    std::unique_ptr<Wire>& place = wires_[{from, to, channel}];
    if (place == nullptr) place = std::make_unique<Wire>(from, to, slotBytes_, slotCount_);
    return *place;
  }

  std::size_t slotBytes_;
  std::uint32_t slotCount_;
  std::map<std::tuple<int, int, int>, std::unique_ptr<Wire>> wires_;
};

host::Lane hostLane(const Operation& operation, int rank, int channel, HostWires& wires) {
  const AnySchedule schedule(
      operation.plan.algorithm,
      scheduleArgs(operation.plan, operation.request, operation.ranks, rank, channel));
  std::vector<SendEnd*> send;
  for (int entry = 0; entry < schedule.sendPeers(); ++entry)
    send.push_back(wires.sendEnd(rank, schedule.sendPeer(entry), channel));
  std::vector<RecvEnd*> recv;
  for (int entry = 0; entry < schedule.recvPeers(); ++entry)
    recv.push_back(wires.recvEnd(schedule.recvPeer(entry), rank, channel));
  return {schedule, std::move(send), std::move(recv),
          schedule.scratchElems() * elementBytes(operation.request.type)};
}

host::Arithmetic hostArithmetic(const Operation& operation) {
  const PlanRequest& request = operation.request;
  host::Arithmetic arithmetic;
  arithmetic.rules = arithmeticOf(request.collective, request.type, request.op, operation.ranks);
  if (arithmetic.rules.reduces) {
    arithmetic.combine = host::combineFunction(request.type, request.op, host::SimdTarget::kScalar);
  }
  return arithmetic;
}

}  // namespace

std::string Operation::describe() const {
  const AlgorithmInfo& info = algorithmInfo(plan.algorithm);
  return fmt::format("{} {} {} {} count {} root {} ranks {} channels {} {}{}{}",
                     collectiveName(request.collective), info.name, dataTypeName(request.type),
                     reduceOpName(request.op), request.count, request.root, ranks, plan.channels,
                     device::protocolName(protocol), buffers.front().inPlace ? " in place" : "",
                     buffers.front().margin != 0 ? " shifted" : "");
}

bool legal(const OperationShape& shape) {
  const PlanRequest request = requestOf(shape);
  if (isReduction(request.collective) && !isReducible(request.type, request.op)) return false;
  const bool inLines = shape.protocol != device::Protocol::kStaged;
  if (inLines && request.count == 0) return false;
  if (inLines && isReduction(request.collective) &&
      !device::reducesInLines(request.type, request.op))
    return false;
  return planOf(shape).ok();
}

Operation makeOperation(const OperationShape& shape, std::uint64_t seed) {
  const Result<Plan> plan = planOf(shape);
  RONDO_CHECK(plan.ok());
  Operation operation;
  operation.request = requestOf(shape);
  operation.plan = *plan;
  operation.ranks = shape.ranks;
  operation.protocol = shape.protocol;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    operation.buffers.push_back(makeBuffers(shape, operation.request, rank, seed));
    const Bytes factor = makeInput(shape.type, InputKind::kSmall, 1, seed + 1);
    std::uint64_t scale = 0;
    if (isNarrowFloat(shape.type)) {
      const float narrow = 1.5f;
      std::memcpy(&scale, &narrow, sizeof narrow);
    } else {
      std::memcpy(&scale, factor.data(), factor.size());
    }
    operation.scales.push_back(scale);
  }
  return operation;
}

std::vector<Bytes> runOnHost(const Operation& operation, std::size_t slotBytes) {
  HostWires wires(slotBytes, 4);
  std::vector<RankBuffers> buffers = operation.buffers;
  std::vector<host::Work> works(buffers.size());
  std::vector<std::pair<int, host::Lane>> lanes;
  for (int rank = 0; rank < operation.ranks; ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    works[place].buffers = {buffers[place].in(), buffers[place].out()};
    works[place].arithmetic = hostArithmetic(operation);
    if (operation.request.op == ReduceOp::kPreMulSum)
      works[place].arithmetic.scale = &operation.scales[place];
    for (int channel = 0; channel < operation.plan.channels; ++channel)
      lanes.emplace_back(rank, hostLane(operation, rank, channel, wires));
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (auto& [rank, lane] : lanes)
      moved |= lane.tryStep(works[static_cast<std::size_t>(rank)]) == host::StepResult::kRan;
  }
  std::vector<Bytes> outputs;
  for (RankBuffers& rank : buffers)
    outputs.push_back(std::move(rank.output));
  return outputs;
}

}  // namespace rondo::testing
