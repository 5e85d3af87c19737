#include "tests/gpu_check/process_rank.h"

#include "src/cli/perf/collective_caller.h"
#include "tests/gpu_check/cases.h"
#include "tests/gpu_check/check_call.h"

namespace rondo::gpucheck {

namespace {

/// Whether this version of the library knows ranks that are processes and have a GPU. In one that
/// does not, the ranks would be on host memory.
template <class Config>
concept NamesDevice = requires(Config config) {
  config.device;
};

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

Status runAll(const Extent& extent) {
  if constexpr (!NamesDevice<rondoConfig_t>) {
    return Status::notSupported("this version has no devices for ranks that are processes");
  }
  const Result<Gpus> gpus = openGpus();
  RONDO_RETURN_IF_ERROR(gpus.status());
  Result<GpuRank> rank = joinOthers(*gpus, extent);
  RONDO_RETURN_IF_ERROR(rank.status());
  const Status outcome = makeCalls(*rank, extent);
  (void)rondoCommDestroy(rank->comm);
  return outcome;
}

}  // namespace

Verdict runAsProcessRank(const Extent& extent) {
  const Status outcome = runAll(extent);
  if (outcome.ok()) return Verdict::kPassed;
  fmt::print("{}\n", outcome.message());
  return outcome.code() == StatusCode::kNotSupported ? Verdict::kNothingRun : Verdict::kFailed;
}

}  // namespace rondo::gpucheck
