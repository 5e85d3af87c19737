#include "tests/gpu_check/check_call.h"

#include <algorithm>
#include <utility>

#include "collectives/buffers.h"
#include "src/cli/perf/collective_caller.h"
#include "tests/collective/test_inputs.h"

namespace rondo::gpucheck {

namespace {

constexpr std::size_t kGuardBytes = 64;
constexpr std::byte kUntouched{0xee};

using perf::CollectiveCaller;

/// How a rank's buffers lie: in elements of the call's blocks.
struct Places {
  std::size_t sent = 0;  // blocks
  std::size_t received = 0;
  std::size_t sendBlock = 0;  // in place: where they begin in the shared buffer
  std::size_t recvBlock = 0;
};

Places placesOf(const CheckCall& call, int ranks, int rank) {
  const RankPlace place{rank, ranks, call.what.root};
  Places places;
  places.sent = inputBlocks(call.what.collective, place);
  places.received = outputBlocks(call.what.collective, place);
  if (places.sent > places.received) places.recvBlock = static_cast<std::size_t>(rank);
  if (places.sent < places.received) places.sendBlock = static_cast<std::size_t>(rank);
  return places;
}

Bytes guarded(std::size_t bytes) {
  return Bytes(kGuardBytes + bytes + kGuardBytes, kUntouched);
}

/// What a rank does with its memory, wherever that is.
rondoResult_t make(const CollectiveCaller& caller,
                   const RankMemory& memory,
                   std::byte* first,
                   std::byte* second,
                   rondoStream_t stream) {
  std::byte* const target = memory.shared ? first : second;
  return caller.call(memory.sends ? first + memory.sendAt : nullptr,
                     memory.receives ? target + memory.recvAt : nullptr, stream);
}

Status runOnHostAs(const CheckCall& call, rondoComm_t comm, RankMemory& memory) {
  const Result<CollectiveCaller> caller = CollectiveCaller::create(call.what, memory.factor, comm);
  RONDO_RETURN_IF_ERROR(caller.status());
  return caller->status(make(*caller, memory, memory.first.data(), memory.second.data(), nullptr));
}

Status upload(const Bytes& from, const GpuBuffer& to, const GpuRank& rank) {
  if (from.size() > to.bytes())
    return Status::internal("a call needs {} bytes, and there are {}", from.size(), to.bytes());
  if (from.empty()) return {};
  return rank.gpu->check(
      rank.gpu->driver->copyToDevice(to.address(), from.data(), from.size(), rank.stream.get()),
      "copying to it");
}

Status download(const GpuBuffer& from, Bytes& to, const GpuRank& rank) {
  if (to.empty()) return {};
  return rank.gpu->check(
      rank.gpu->extra->copyToHost(to.data(), from.address(), to.size(), rank.stream.get()),
      "copying from it");
}

}  // namespace

std::string CheckCall::text(int ranks) const {
  std::string text = fmt::format(
      "{}/{} {} ranks {} count {} {} shifts {}/{} seed {}", collectiveName(what.collective),
      perf::algorithmText(what), dataTypeName(what.type), ranks, what.count,
      perf::placementName(placement), sendShiftElems, recvShiftElems, seed);
  if (isReduction(what.collective)) text += fmt::format(" {}", reduceOpName(what.op));
  if (hasRoot(what.collective)) text += fmt::format(" root {}", what.root);
  return text;
}

RankMemory memoryBefore(const CheckCall& call, int ranks, int rank) {
  const perf::Case& what = call.what;
  const Places places = placesOf(call, ranks, rank);
  const std::size_t elem = elementBytes(what.type);
  const std::size_t block = what.count * elem;
  const std::uint64_t seed = testing::scramble(call.seed) + static_cast<std::uint64_t>(rank) * 7919;
  RankMemory memory;
  memory.sends = places.sent > 0;
  memory.receives = places.received > 0;
  memory.shared = call.placement == perf::Placement::kInPlace;
  memory.sendAt = kGuardBytes + call.sendShiftElems * elem;
  memory.recvAt = kGuardBytes + call.recvShiftElems * elem;
  std::size_t firstBytes = call.sendShiftElems * elem + places.sent * block;
  if (memory.shared) {
    const std::size_t start = memory.sendAt;
    firstBytes = call.sendShiftElems * elem + std::max(places.sent, places.received) * block;
    memory.sendAt = start + places.sendBlock * block;
    memory.recvAt = start + places.recvBlock * block;
  }
  memory.first = guarded(firstBytes);
  if (!memory.shared) memory.second = guarded(call.recvShiftElems * elem + places.received * block);
  const Bytes input =
      testing::makeInput(what.type, testing::InputKind::kOrdinary, places.sent * what.count, seed);
  std::ranges::copy(input, memory.first.begin() + static_cast<std::ptrdiff_t>(memory.sendAt));
  if (what.op == ReduceOp::kPreMulSum)
    memory.factor = testing::makeInput(what.type, testing::InputKind::kOrdinary, 1, seed + 1);
  return memory;
}

Result<std::vector<RankMemory>> runOnHost(const CheckCall& call, HostTeam& team) {
  std::vector<RankMemory> memories(static_cast<std::size_t>(team.ranks()));
  RONDO_RETURN_IF_ERROR(runRanks(team.ranks(), [&](int rank) {
    RankMemory& memory = memories[static_cast<std::size_t>(rank)];
    memory = memoryBefore(call, team.ranks(), rank);
    return runOnHostAs(call, team.comm(rank), memory);
  }));
  return memories;
}

Result<RankBuffers> RankBuffers::allocate(const Gpu& gpu, std::size_t bytes) {
  Result<GpuBuffer> first = GpuBuffer::allocate(gpu, bytes);
  RONDO_RETURN_IF_ERROR(first.status());
  Result<GpuBuffer> second = GpuBuffer::allocate(gpu, bytes);
  RONDO_RETURN_IF_ERROR(second.status());
  return RankBuffers{*std::move(first), *std::move(second)};
}

Status runOnGpu(const CheckCall& call,
                GpuRank& rank,
                const RankBuffers& buffers,
                std::chrono::seconds patience,
                RankMemory& memory) {
  const Result<CollectiveCaller> caller =
      CollectiveCaller::create(call.what, memory.factor, rank.comm);
  RONDO_RETURN_IF_ERROR(caller.status());
  RONDO_RETURN_IF_ERROR(upload(memory.first, buffers.first, rank));
  RONDO_RETURN_IF_ERROR(upload(memory.second, buffers.second, rank));
  RONDO_RETURN_IF_ERROR(caller->status(
      make(*caller, memory, buffers.first.at(0), buffers.second.at(0), rank.stream.get())));
  // A copy to ordinary memory may block until the stream is done, so the kernel is awaited first,
  // with some time beyond that after which the library itself gives up.
  const Deadline deadline = Deadline::within(2 * patience);
  RONDO_RETURN_IF_ERROR(rank.stream.await(deadline));
  RONDO_RETURN_IF_ERROR(laterFailure(rank.comm));
  RONDO_RETURN_IF_ERROR(download(buffers.first, memory.first, rank));
  RONDO_RETURN_IF_ERROR(download(buffers.second, memory.second, rank));
  return rank.stream.await(deadline);
}

std::string difference(const CheckCall& call, const RankMemory& host, const RankMemory& gpu) {
  const DataType type = call.what.type;
  const std::string first = testing::describeDifference(type, true, host.first, gpu.first);
  const std::string second = testing::describeDifference(type, true, host.second, gpu.second);
  const std::size_t guardElems = kGuardBytes / elementBytes(type);
  std::string text;
  if (!first.empty())
    text += fmt::format("{}: {}", host.shared ? "the buffer" : "send was changed", first);
  if (!second.empty()) text += fmt::format("{}recv: {}", text.empty() ? "" : "; ", second);
  if (!text.empty()) text += fmt::format(" (the buffer begins at element {})", guardElems);
  return text;
}

Status checkCall(const CheckCall& call,
                 HostTeam& host,
                 GpuTeam& gpus,
                 const std::vector<RankBuffers>& buffers) {
  const Result<std::vector<RankMemory>> expected = runOnHost(call, host);
  if (!expected.ok()) return expected.status().withContext("on host memory");
  std::vector<RankMemory> found(expected->size());
  RONDO_RETURN_IF_ERROR(gpus.run([&](GpuRank& rank) {
    const auto at = static_cast<std::size_t>(rank.rank);
    found[at] = memoryBefore(call, gpus.ranks(), rank.rank);
    return runOnGpu(call, rank, buffers[at], gpus.patience(), found[at]);
  }));
  return runRanks(gpus.ranks(), [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    const std::string fault = difference(call, (*expected)[at], found[at]);
    return fault.empty() ? Status{} : Status::internal("wrong result: {}", fault);
  });
}

}  // namespace rondo::gpucheck
