// What every rank tells all others when a communicator of processes is made: who and where it is,
// and the settings on which all must agree.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collectives/two_level/host_map.h"
#include "src/config.h"
#include "src/planner.h"
#include "src/processors.h"
#include "src/status.h"
#include "src/worker_count.h"

namespace rondo {

struct RankInfo {
  std::int32_t process = 0;
  std::vector<std::string> transports;  ///< those it may use, best first
  std::vector<std::string> offers;      ///< how to reach it by each of them; empty: not at all
  ProcessorMask processors;
  std::string host;          ///< equal for ranks of one host: hostIdentity()
  std::string machine;       ///< whose processors those are; as `host`, but never what somebody set
  ProcessorMask cores;       ///< those of its processors, as src/worker_count.h names them
  ProcessorMask nodes;       ///< their NUMA nodes
  std::int32_t quota = 0;    ///< processors that control groups let be busy; 0: no limit
  std::int32_t workers = 1;  ///< most threads for an operation that it would have, by settings
  std::uint8_t workersAsked = 0;  ///< they were asked for, whatever the cores
  std::uint64_t slotBytes = 0;
  std::uint64_t slotCount = 0;
  std::uint64_t mailboxBytes = 0;
  std::int32_t channels = 0;
  std::uint8_t reproducible = 0;
  std::uint8_t onDevice = 0;            ///< buffers are memory of a CUDA device
  std::vector<std::string> algorithms;  ///< planRuleText() of the rules
  std::uint64_t tuning = 0;             ///< hash of the table; 0: none
};

/// For Exchange::allGather().
std::string encodeRankInfo(const RankInfo& info);

/// @errors Mismatch (not made by this version)
Result<RankInfo> decodeRankInfo(int rank, std::string_view text);

/// Texts of one rank, one for each of its transports, for Exchange::allGather().
std::string encodeTexts(const std::vector<std::string>& texts);

/// @param count how many they must be
/// @errors Mismatch (not made by this version)
Result<std::vector<std::string>> decodeTexts(int rank, std::string_view text, std::size_t count);

/// This process: everything but offers, slots, cores and workers.
RankInfo describeThisRank(const Config& config);

/// Identity of the part of this machine in which memory and process ids are shared: boot and
/// namespaces, or `override` if that is not empty.
std::string hostIdentity(std::string_view override);

/// Ok if planner inputs are the same on all ranks.
/// @errors Mismatch, naming two ranks and the setting in which they differ
Status checkAgreement(std::span<const RankInfo> infos);

/// What follows for all ranks from what each would have and from the cores that they share.
WorkerFacts agreedWorkers(std::span<const RankInfo> infos);

/// Processors that any of the ranks may use, those of all machines together; at least 1.
int sharedProcessors(std::span<const RankInfo> infos);

/// Who is on which host; null if all are on one.
std::shared_ptr<const HostMap> hostsOf(std::span<const RankInfo> infos);

}  // namespace rondo
