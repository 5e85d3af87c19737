#include "tests/gpu_check/process_rank.h"

#include <string>
#include <string_view>

#include "src/cli/perf/collective_caller.h"
#include "tests/gpu_check/cases.h"
#include "tests/gpu_check/check_call.h"

namespace rondo::gpucheck {

namespace {

Result<GpuRank> joinOthers(const Gpus& gpus, const Extent& extent) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  const auto patienceMs = std::chrono::milliseconds(extent.patience).count();
  config.operationTimeoutMs = patienceMs;
  config.initTimeoutMs = patienceMs;
  rondoComm_t comm = nullptr;
  RONDO_RETURN_IF_ERROR(perf::statusOf(rondoCommInitFromEnvironment(&comm, &config), nullptr));
  int rank = 0;
  RONDO_RETURN_IF_ERROR(perf::statusOf(rondoCommRank(comm, &rank), comm));
  const Gpu& gpu = gpus.ofRank(rank);
  Result<GpuStream> stream = GpuStream::create(gpu);
  RONDO_RETURN_IF_ERROR(stream.status());
  return GpuRank{rank, comm, &gpu, *std::move(stream)};
}

/// Makes the call as this rank, and as all ranks on host memory.
Status checkOwnPart(const CheckCall& call,
                    HostTeam& host,
                    GpuRank& rank,
                    const RankBuffers& buffers,
                    std::chrono::seconds patience) {
  const Result<std::vector<RankMemory>> expected = runOnHost(call, host);
  RONDO_RETURN_IF_ERROR(expected.status());
  RankMemory memory = memoryBefore(call, host.ranks(), rank.rank);
  RONDO_RETURN_IF_ERROR(runOnGpu(call, rank, buffers, patience, memory));
  const std::string fault =
      difference(call, (*expected)[static_cast<std::size_t>(rank.rank)], memory);
  return fault.empty() ? Status{} : Status::internal("wrong result: {}", fault);
}

Status makeCalls(GpuRank& rank, const Extent& extent) {
  int ranks = 0;
  RONDO_RETURN_IF_ERROR(perf::statusOf(rondoCommCount(rank.comm, &ranks), rank.comm));
  Result<HostTeam> host = HostTeam::make({.ranks = ranks, .patience = extent.patience});
  RONDO_RETURN_IF_ERROR(host.status());
  const Result<RankBuffers> buffers = RankBuffers::allocate(*rank.gpu, 2 * kLargeBytes);
  RONDO_RETURN_IF_ERROR(buffers.status());
  const OnGpu current(*rank.gpu);
  for (const CheckCall& call : smokeCalls(ranks, {kFewElements, kSmallBytes, kLargeBytes})) {
    Status outcome = checkOwnPart(call, *host, rank, *buffers, extent.patience);
    if (!outcome.ok()) return std::move(outcome).withContext(call.text(ranks));
  }
  return {};
}

/// "cuda_ipc", or whatever leads to the next rank.
Result<std::string> wayToNext(const GpuRank& rank) {
  int ranks = 0;
  RONDO_RETURN_IF_ERROR(perf::statusOf(rondoCommCount(rank.comm, &ranks), rank.comm));
  const char* name = nullptr;
  RONDO_RETURN_IF_ERROR(
      perf::statusOf(rondoCommGetTransport(rank.comm, (rank.rank + 1) % ranks, &name), rank.comm));
  return std::string(name);
}

/// @return how ranks reach each other
Result<std::string> runAll(const Extent& extent) {
  const Result<Gpus> gpus = openGpus();
  RONDO_RETURN_IF_ERROR(gpus.status());
  Result<GpuRank> rank = joinOthers(*gpus, extent);
  RONDO_RETURN_IF_ERROR(rank.status());
  const Result<std::string> way = wayToNext(*rank);
  const Status outcome = makeCalls(*rank, extent);
  (void)rondoCommDestroy(rank->comm);
  RONDO_RETURN_IF_ERROR(outcome);
  return way;
}

}  // namespace

Verdict runAsProcessRank(const Extent& extent) {
  const Result<std::string> way = runAll(extent);
  fmt::print("{}\n", way.ok() ? std::string_view(*way) : way.status().message());
  if (way.ok()) return Verdict::kPassed;
  return way.status().code() == StatusCode::kNotSupported ? Verdict::kNothingRun : Verdict::kFailed;
}

}  // namespace rondo::gpucheck
