#include "src/process_ranks.h"

#include <string>
#include <utility>
#include <vector>

#include "src/log.h"
#include "src/net/deadline.h"
#include "src/rank_info.h"
#include "transports/shm/arena_exchange.h"
#include "transports/shm/shm_group.h"

namespace rondo {

namespace {

Result<std::vector<RankInfo>> decodeAll(const std::vector<std::string>& texts) {
  std::vector<RankInfo> infos;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    Result<RankInfo> info = decodeRankInfo(static_cast<int>(rank), texts[rank]);
    if (!info.ok()) return std::move(info).status();
    infos.push_back(*std::move(info));
  }
  return infos;
}

/// Shared memory is the one transport between processes so far.
Status checkOneHost(const std::vector<RankInfo>& infos) {
  for (std::size_t rank = 1; rank < infos.size(); ++rank) {
    if (infos[rank].host == infos.front().host) continue;
    return Status::notSupported(
        "ranks 0 and {} do not share a host (or a pid or network namespace of it): this version "
        "connects processes by shared memory only; start all ranks in one container or host",
        rank);
  }
  return {};
}

/// Rank 0 makes the arena and hands it out; the others fetch it.
Result<shm::Arena> shareArena(int rank,
                              const std::vector<RankInfo>& infos,
                              const shm::ArenaListener& listener,
                              const PlanFacts& facts,
                              const SecretKey& key,
                              Deadline deadline) {
  if (rank != 0) return shm::takeArena(infos.front().socket, rank, facts.ranks, key, deadline);
  Result<shm::Arena> arena =
      shm::ShmGroup::makeArena(facts.ranks, facts.slotBytes, facts.slotCount);
  if (!arena.ok()) return arena;
  RONDO_RETURN_IF_ERROR(listener.handOut(*arena, facts.ranks - 1, facts.ranks, key, deadline));
  return arena;
}

std::vector<pid_t> processesOf(const std::vector<RankInfo>& infos) {
  std::vector<pid_t> processes;
  for (const RankInfo& info : infos)
    processes.push_back(info.process);
  return processes;
}

}  // namespace

RendezvousSettings rendezvousSettings(const Config& config) {
  RendezvousSettings settings;
  settings.initTimeout = config.initTimeout;
  settings.interfaces = config.meeting.interfaces;
  settings.portFirst = config.meeting.portFirst;
  settings.portLast = config.meeting.portLast;
  settings.advertisedAddress = config.meeting.advertise;
  return settings;
}

Result<JoinedRanks> joinProcessRanks(const UniqueId& id,
                                     int rank,
                                     const PlanFacts& own,
                                     const Config& config) {
  const Deadline deadline = Deadline::within(config.initTimeout);
  const Result<UniqueIdContent> content = readUniqueId(id);
  if (!content.ok()) return content.status();
  const Result<shm::ArenaListener> listener = shm::ArenaListener::create();
  if (!listener.ok()) return listener.status();

  RankInfo info = describeThisRank(config);
  info.socket = listener->address();
  info.slotBytes = own.slotBytes;
  info.slotCount = own.slotCount;
  const Result<std::vector<std::string>> texts =
      joinRendezvous(id, rank, own.ranks, encodeRankInfo(info), rendezvousSettings(config));
  if (!texts.ok()) return texts.status();
  const Result<std::vector<RankInfo>> infos = decodeAll(*texts);
  if (!infos.ok()) return infos.status();
  RONDO_RETURN_IF_ERROR(checkAgreement(*infos));
  RONDO_RETURN_IF_ERROR(checkOneHost(*infos));

  JoinedRanks joined;
  joined.facts = own;
  joined.facts.cpus = sharedProcessors(*infos);
  Result<shm::Arena> arena =
      shareArena(rank, *infos, *listener, joined.facts, content->secret, deadline);
  if (!arena.ok()) return std::move(arena).status();
  Result<std::unique_ptr<shm::ShmGroup>> group =
      shm::ShmGroup::join(*std::move(arena), processesOf(*infos));
  if (!group.ok()) return std::move(group).status();
  joined.group = *std::move(group);
  return joined;
}

}  // namespace rondo
