#include "src/process_ranks.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "src/net/deadline.h"
#include "src/path_trials.h"
#include "src/rank_info.h"
#include "src/transport_choice.h"
#include "src/worker_cores.h"
#include "transports/shm/shm_transport.h"
#include "transports/tcp/tcp_transport.h"
#include "transports/verbs/make_transport.h"

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

std::vector<Offers> offersOf(const std::vector<RankInfo>& infos) {
  std::vector<Offers> offers;
  for (const RankInfo& info : infos)
    offers.push_back(info.offers);
  return offers;
}

/// Where this rank listens for others. A port, or an advertised port, that is one for all can only
/// be the root's; ranks of one host share a range.
ControlSettings controlSettings(int rank, int ranks, const MeetingSettings& meeting) {
  ControlSettings settings;
  settings.rank = rank;
  settings.ranks = ranks;
  settings.addresses.interfaces = meeting.interfaces;
  settings.privateOnly = meeting.privateOnly;
  const Result<SocketAddress> withPort = SocketAddress::parse(meeting.advertise);
  settings.addresses.advertised = withPort.ok() ? withPort->hostText() : meeting.advertise;
  if (meeting.portFirst < meeting.portLast) {
    settings.ports = {meeting.portFirst, meeting.portLast};
  }
  return settings;
}

/// One rank on its way into a communicator.
class Joining {
 public:
  Joining(Exchange& exchange,
          const SecretKey& key,
          int rank,
          const PlanFacts& own,
          const Config& config)
      : exchange_(exchange), key_(key), rank_(rank), facts_(own), config_(config) {}

  Result<JoinedRanks> run() {
    makeTransports();
    const OwnOffers own = makeOffers(transports_);
    RONDO_RETURN_IF_ERROR(introduce(own.offers));
    const std::vector<Offers> offers = offersOf(infos_);
    const Outcomes outcomes = openTransports(transports_, rank_, offers, own.reasons, deadline_);
    Result<std::vector<Outcomes>> all = tellOutcomes(outcomes);
    RONDO_RETURN_IF_ERROR(all.status());
    RONDO_RETURN_IF_ERROR(tryPaths(exchange_, transports_, rank_, offers, *all, deadline_));
    Result<std::vector<std::vector<std::size_t>>> routes =
        chooseRoutes(transports_, rank_, offers, *all);
    RONDO_RETURN_IF_ERROR(routes.status());
    return formGroup(*std::move(routes));
  }

 private:
  void makeTransports() {
    const SlotShape slots{facts_.slotBytes, facts_.slotCount};
    if (config_.allowsTransport("shm")) {
      shm_ = std::make_shared<shm::ShmTransport>(rank_, hostIdentity(config_.meeting.hostId), slots,
                                                 key_, SlotAccount(config_.slotMemoryBytes));
      transports_.push_back(shm_);
    }
    if (!config_.allowsTransport("verbs") && !config_.allowsTransport("tcp")) return;
    const ControlSettings settings = controlSettings(rank_, facts_.ranks, config_.meeting);
    Result<std::unique_ptr<ControlPlane>> control = ControlPlane::open(settings, key_);
    // Ranks that share memory do without.
    if (control.ok()) control_ = *std::move(control);
    if (config_.allowsTransport("verbs")) {
      transports_.push_back(verbs::makeTransport({.rank = rank_,
                                                  .slots = slots,
                                                  .control = control_.get(),
                                                  .whyNoControl = control.status(),
                                                  .settings = config_.verbs,
                                                  .connectTimeout = config_.connectTimeout,
                                                  .account = SlotAccount(config_.slotMemoryBytes),
                                                  .mayDetour = config_.allowsTransport("tcp")}));
    }
    if (!config_.allowsTransport("tcp")) return;
    transports_.push_back(std::make_shared<tcp::TcpTransport>(
        rank_, slots, control_.get(), control.status(), config_.connectTimeout,
        SlotAccount(config_.slotMemoryBytes)));
  }

  /// Tells all ranks about this one, and learns about them.
  Status introduce(const Offers& offers) {
    RankInfo info = describeThisRank(config_);
    info.slotBytes = facts_.slotBytes;
    info.slotCount = facts_.slotCount;
    const CoreUse cores = coresFor(config_, info.processors);
    info.cores = cores.cores;
    info.nodes = cores.nodes;
    info.quota = quotaFor(config_, info.processors);
    info.workers = workersBySettings(facts_, config_);
    info.offers = offers;
    const Result<std::vector<std::string>> texts = exchange_.allGather(encodeRankInfo(info));
    RONDO_RETURN_IF_ERROR(texts.status());
    Result<std::vector<RankInfo>> infos = decodeAll(*texts);
    RONDO_RETURN_IF_ERROR(infos.status());
    infos_ = *std::move(infos);
    facts_.cpus = sharedProcessors(infos_);
    facts_.hosts = hostsOf(infos_);
    setWorkers(agreedWorkers(infos_), facts_);
    return checkAgreement(infos_);
  }

  Result<std::vector<Outcomes>> tellOutcomes(const Outcomes& own) {
    const Result<std::vector<std::string>> texts = exchange_.allGather(encodeTexts(own));
    RONDO_RETURN_IF_ERROR(texts.status());
    std::vector<Outcomes> all;
    for (std::size_t rank = 0; rank < texts->size(); ++rank) {
      Result<Outcomes> outcomes = decodeTexts(static_cast<int>(rank), (*texts)[rank], own.size());
      RONDO_RETURN_IF_ERROR(outcomes.status());
      all.push_back(*std::move(outcomes));
    }
    return all;
  }

  Result<JoinedRanks> formGroup(std::vector<std::vector<std::size_t>> routes) {
    ProcessGroup::Parts parts;
    parts.rank = rank_;
    parts.ranks = facts_.ranks;
    parts.communicator = config_.name;
    parts.onBoard = ranksOnBoard(routes);
    const bool shared = std::ranges::count(parts.onBoard, true) > 1;
    if (!shared && shm_ != nullptr) shm_->close();  // memory that leads to nobody
    parts.board = shared ? shm_->board() : std::make_shared<PrivateBoard>();
    const bool alone = std::ranges::all_of(parts.onBoard, [](bool onBoard) { return onBoard; });
    parts.control = std::move(control_);
    parts.transports = std::move(transports_);
    parts.routes = std::move(routes);
    parts.connectTimeout = config_.connectTimeout;
    parts.leaveTimeout = config_.operationTimeout;
    parts.warningAfter = config_.warningAfter;
    JoinedRanks joined{std::make_shared<ProcessGroup>(std::move(parts)), facts_};
    if (!alone) RONDO_RETURN_IF_ERROR(joined.group->joinControl(deadline_));
    return joined;
  }

  /// Those with whom this rank shares memory, and itself.
  std::vector<bool> ranksOnBoard(const std::vector<std::vector<std::size_t>>& routes) const {
    std::vector<bool> onBoard;
    for (int peer = 0; peer < facts_.ranks; ++peer) {
      const std::vector<std::size_t>& route = routes[static_cast<std::size_t>(peer)];
      onBoard.push_back(peer == rank_ || transports_[route.front()]->sharesMemory());
    }
    return onBoard;
  }

  Exchange& exchange_;
  const SecretKey& key_;
  const int rank_;
  PlanFacts facts_;
  const Config& config_;
  const Deadline deadline_ = config_.initDeadline();
  std::unique_ptr<ControlPlane> control_;
  std::shared_ptr<shm::ShmTransport> shm_;  // one of transports_, or null
  TransportList transports_;
  std::vector<RankInfo> infos_;  // by rank
};

}  // namespace

Result<JoinedRanks> joinProcessRanks(Exchange& exchange,
                                     const SecretKey& key,
                                     int rank,
                                     const PlanFacts& own,
                                     const Config& config) {
  return Joining(exchange, key, rank, own, config).run();
}

}  // namespace rondo
