#include "tests/collective/communicators.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include "kernels/cuda/launch.h"
#include "src/communicator.h"
#include "src/communicator_handles.h"
#include "src/config.h"
#include "src/processors.h"

namespace rondo::testing {

namespace {

// What src/communicator.cc takes for settings that are left to it.
constexpr std::size_t kDefaultSlotBytes = 65536;
constexpr std::uint32_t kDefaultSlots = 4;

rondoConfig_t configOf(const CommunicatorSettings& settings) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  if (!settings.algorithm.empty()) config.algorithm = settings.algorithm.c_str();
  config.logLevel = settings.logLevel.c_str();
  config.reproducible = settings.reproducible ? 1 : 0;
  config.channels = settings.channels;
  config.chunkBytes = static_cast<std::int64_t>(settings.chunkBytes);
  config.slotsPerConnection = settings.slots;
  config.operationTimeoutMs = settings.operationTimeoutMs;
  config.warningMs = settings.warningMs;
  return config;
}

/// Whether ranks shall meet as processes do, though they are threads, and use the transports
/// between processes. Which ones, RONDO_TRANSPORT says.
bool meetAsProcesses() {
  return std::getenv("RONDOTEST_MEET") != nullptr;  // NOLINT(concurrency-mt-unsafe)
}

/// Whether buffers shall be taken for memory of emulated GPUs, each of which as many ranks share as
/// can (tests/cuda/driver_double/controls.h).
bool onDevices() {
  return std::getenv("RONDOTEST_ON_DEVICE") != nullptr;  // NOLINT(concurrency-mt-unsafe)
}

rondoResult_t initThreads(std::vector<rondoComm_t>& handles, const rondoConfig_t& config) {
  const auto ranks = static_cast<int>(handles.size());
  if (!onDevices()) return rondoCommInitAll(handles.data(), ranks, &config);
  std::vector<int> devices;
  for (int rank = 0; rank < ranks; ++rank)
    devices.push_back(rank / device::kMaxLaunchRanks);
  return rondoCommInitAllOnDevices(handles.data(), ranks, devices.data(), &config);
}

/// Of how many hosts the ranks that meet shall believe to be; 0: of the one they are on.
int hostsToPlay() {
  const char* const hosts = std::getenv("RONDOTEST_HOSTS");  // NOLINT(concurrency-mt-unsafe)
  return hosts == nullptr ? 0 : std::atoi(hosts);
}

/// Makes the communicator of a rank that believes to be on one of several hosts. RONDO_HOST_ID
/// would say the same to all ranks of this process, so it is put in where the library keeps it.
/// @return what went wrong; empty: nothing.
std::string initOnHost(
    rondoComm_t* handle, int ranks, const rondoUniqueId_t& id, int rank, const Config& config) {
  Config own = config;
  own.meeting.hostId = "host" + std::to_string(hostsOfRanks(ranks)[static_cast<std::size_t>(rank)]);
  UniqueId meeting;
  std::memcpy(meeting.bytes.data(), id.bytes, sizeof id.bytes);
  auto communicator = Communicator::createRank(meeting, rank, ranks, own);
  if (!communicator.ok()) return std::string(communicator.status().message());
  std::vector<std::unique_ptr<Communicator>> one;
  one.push_back(*std::move(communicator));
  return std::string(registerCommunicators(std::move(one), handle).message());
}

/// Makes the communicator of one rank.
/// @return what went wrong; empty: nothing.
std::string initRank(rondoComm_t* handle,
                     int ranks,
                     const rondoUniqueId_t& id,
                     int rank,
                     const rondoConfig_t& config) {
  if (hostsToPlay() > 0) {
    const Result<Config> settled = loadConfig(&config, processEnvironment());
    if (!settled.ok()) return std::string(settled.status().message());
    return initOnHost(handle, ranks, id, rank, *settled);
  }
  if (rondoCommInitRank(handle, ranks, id, rank, &config) == rondoSuccess) return {};
  return rondoGetLastError(nullptr);
}

/// Makes the communicators of all ranks, each in a thread of its own.
/// @return what went wrong; empty: nothing.
std::string initByRank(std::vector<rondoComm_t>& handles, const rondoConfig_t& config) {
  rondoUniqueId_t id;
  if (rondoGetUniqueId(&id) != rondoSuccess) return rondoGetLastError(nullptr);
  std::vector<std::string> faults(handles.size());
  std::vector<std::thread> threads;
  const int ranks = static_cast<int>(handles.size());
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const auto at = static_cast<std::size_t>(rank);
      rondoConfig_t own = config;
      // One each: the default stream, which calls go on, is the device's.
      if (onDevices()) own.device = rank;
      faults[at] = initRank(&handles[at], ranks, id, rank, own);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  std::string all;
  for (const std::string& fault : faults)
    all += fault;
  return all;
}

/// Whether rank 0 reaches all others by memory; then all ranks do.
bool shareMemory(const std::vector<rondoComm_t>& handles) {
  for (int peer = 1; peer < static_cast<int>(handles.size()); ++peer) {
    const char* name = nullptr;
    if (rondoCommGetTransport(handles.front(), peer, &name) != rondoSuccess) return false;
    if (std::string_view(name) != "inproc" && std::string_view(name) != "shm") return false;
  }
  return true;
}

}  // namespace

std::string forcedBy(AlgorithmId id) {
  const AlgorithmInfo& info = algorithmInfo(id);
  return std::string(collectiveName(info.collective)) + ":" + std::string(info.name);
}

std::vector<int> hostsOfRanks(int ranks) {
  const int hosts = meetAsProcesses() ? hostsToPlay() : 0;
  const bool scattered =
      std::getenv("RONDOTEST_SCATTER") != nullptr;  // NOLINT(concurrency-mt-unsafe)
  std::vector<int> all;
  for (int rank = 0; rank < ranks && hosts > 0; ++rank)
    all.push_back(scattered ? rank % hosts : rank * hosts / ranks);
  return all;
}

Communicators::Communicators(const CommunicatorSettings& settings)
    : settings_(settings), handles_(static_cast<std::size_t>(settings.ranks)) {
  const rondoConfig_t config = configOf(settings_);
  std::string fault;
  if (meetAsProcesses()) {
    fault = initByRank(handles_, config);
  } else if (initThreads(handles_, config) != rondoSuccess) {
    fault = rondoGetLastError(nullptr);
  }
  if (fault.empty()) {
    mailboxes_ = !onDevices() && shareMemory(handles_);
    return;
  }
  ADD_FAILURE() << fault;
  handles_.clear();
}

Communicators::~Communicators() {
  for (int rank = 0; rank < ranks(); ++rank)
    EXPECT_EQ(destroy(rank), rondoSuccess);
}

rondoResult_t Communicators::destroy(int rank) {
  rondoComm_t& handle = handles_[static_cast<std::size_t>(rank)];
  const rondoResult_t result = rondoCommDestroy(handle);
  handle = nullptr;
  return result;
}

void Communicators::abort() const {
  for (const rondoComm_t handle : handles_) {
    if (handle != nullptr) (void)rondoCommAbort(handle);
  }
}

Result<Plan> Communicators::plan(const PlanRequest& request) const {
  const rondoConfig_t requested = configOf(settings_);
  const Result<Config> config = loadConfig(&requested, {});
  RONDO_RETURN_IF_ERROR(config.status());
  PlanFacts facts;
  facts.ranks = settings_.ranks;
  facts.cpus = usableProcessors();
  facts.slotBytes = settings_.chunkBytes != 0 ? settings_.chunkBytes : kDefaultSlotBytes;
  facts.slotCount =
      settings_.slots != 0 ? static_cast<std::uint32_t>(settings_.slots) : kDefaultSlots;
  facts.mailboxBytes = mailboxes_ ? config->mailboxBytes : 0;
  const auto hosts = std::make_shared<const HostMap>(hostsOfRanks(settings_.ranks));
  if (hosts->hosts() > 1 && !onDevices()) facts.hosts = hosts;
  return makePlan(request, facts, PlanSettings::of(*config));
}

}  // namespace rondo::testing
