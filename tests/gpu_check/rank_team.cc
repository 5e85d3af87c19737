#include "tests/gpu_check/rank_team.h"

#include <thread>

#include "src/cli/perf/collective_caller.h"

namespace rondo::gpucheck {

namespace {

rondoConfig_t configOf(const TeamSettings& settings) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  if (!settings.algorithms.empty()) config.algorithm = settings.algorithms.c_str();
  config.operationTimeoutMs = std::chrono::milliseconds(settings.patience).count();
  return config;
}

}  // namespace

Status runRanks(int ranks, const std::function<Status(int)>& body) {
  std::vector<Status> outcomes(static_cast<std::size_t>(ranks));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] { outcomes[static_cast<std::size_t>(rank)] = body(rank); });
  }
  threads.clear();
  for (int rank = 0; rank < ranks; ++rank) {
    Status& outcome = outcomes[static_cast<std::size_t>(rank)];
    if (!outcome.ok()) return std::move(outcome).withContext(fmt::format("rank {}", rank));
  }
  return {};
}

Status laterFailure(rondoComm_t comm) {
  rondoResult_t later = rondoSuccess;
  RONDO_RETURN_IF_ERROR(perf::statusOf(rondoCommGetAsyncError(comm, &later), comm));
  return perf::statusOf(later, comm);
}

Result<HostTeam> HostTeam::make(const TeamSettings& settings) {
  const rondoConfig_t config = configOf(settings);
  HostTeam team;
  std::vector<rondoComm_t> comms(static_cast<std::size_t>(settings.ranks));
  RONDO_RETURN_IF_ERROR(
      perf::statusOf(rondoCommInitAll(comms.data(), settings.ranks, &config), nullptr));
  team.comms_ = std::move(comms);
  return team;
}

HostTeam::~HostTeam() {
  for (const rondoComm_t comm : comms_)
    (void)rondoCommDestroy(comm);
}

Result<GpuTeam> GpuTeam::make(const Gpus& gpus, const TeamSettings& settings) {
  const rondoConfig_t config = configOf(settings);
  std::vector<int> devices;
  for (int rank = 0; rank < settings.ranks; ++rank)
    devices.push_back(gpus.ofRank(rank).ordinal);
  std::vector<rondoComm_t> comms(devices.size());
  RONDO_RETURN_IF_ERROR(perf::statusOf(
      rondoCommInitAllOnDevices(comms.data(), settings.ranks, devices.data(), &config), nullptr));
  GpuTeam team;
  team.patience_ = settings.patience;
  Status failure;
  for (int rank = 0; rank < settings.ranks; ++rank) {
    const rondoComm_t comm = comms[static_cast<std::size_t>(rank)];
    Result<GpuStream> stream = GpuStream::create(gpus.ofRank(rank));
    if (stream.ok()) {
      team.ranks_.push_back({rank, comm, &gpus.ofRank(rank), *std::move(stream)});
    } else {
      failure = stream.status();
      (void)rondoCommDestroy(comm);
    }
  }
  if (!failure.ok()) return failure;
  return team;
}

GpuTeam::~GpuTeam() {
  for (const GpuRank& rank : ranks_)
    (void)rondoCommDestroy(rank.comm);
}

Status GpuTeam::run(const std::function<Status(GpuRank&)>& body) {
  return runRanks(ranks(), [&](int number) {
    GpuRank& own = rank(number);
    const OnGpu current(*own.gpu);
    Status outcome = body(own);
    if (!outcome.ok()) (void)rondoCommAbort(own.comm);
    return outcome;
  });
}

}  // namespace rondo::gpucheck
