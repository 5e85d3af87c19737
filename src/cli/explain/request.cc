#include "src/cli/explain/request.h"

#include <CLI/CLI.hpp>

#include "src/cli/explain/topology_text.h"
#include "src/cli/names.h"
#include "src/cli/perf/bandwidth.h"
#include "src/config.h"
#include "src/size_text.h"
#include "src/worker_cores.h"

namespace rondo::cli {

namespace {

/// So many ranks' steps are all printed.
constexpr int kFewRanks = 4;

Status checkRank(std::string_view flag, int rank, int ranks) {
  if (rank >= 0 && rank < ranks) return {};
  return Status::invalidArgument("{}: {} is no rank of {}; use 0 to {}", flag, rank, ranks,
                                 ranks - 1);
}

Status readOperation(const ExplainFlags& flags, ExplainRequest& request) {
  const Result<Collective> collective = findCollective(flags.operation);
  RONDO_RETURN_IF_ERROR(collective.status());
  const Result<DataType> type = findDataType(flags.type);
  RONDO_RETURN_IF_ERROR(type.status().withContext("-d"));
  const Result<ReduceOp> op = findReduceOp(flags.op);
  RONDO_RETURN_IF_ERROR(op.status().withContext("-o"));
  PlanRequest& plan = request.plan;
  plan.collective = *collective;
  plan.type = *collective == Collective::kBarrier ? DataType::kUint8 : *type;
  if (isReduction(*collective)) plan.op = *op;
  if (isReduction(*collective) && !isReducible(*type, *op)) {
    return Status::invalidArgument("-o: {} has no meaning for {}", flags.op, flags.type);
  }
  if (hasRoot(*collective)) plan.root = flags.root;
  return checkRank("-r", plan.root, flags.ranks);
}

Status readCount(const ExplainFlags& flags, ExplainRequest& request) {
  PlanRequest& plan = request.plan;
  if (plan.collective == Collective::kBarrier) return {};
  if (flags.size.empty()) {
    return Status::invalidArgument("SIZE is missing, e.g. rondo explain {} 1M", flags.operation);
  }
  const Result<std::size_t> bytes = parseSize(flags.size);
  RONDO_RETURN_IF_ERROR(bytes.status());
  plan.count = perf::countForBytes(plan.collective, plan.type, flags.ranks, *bytes);
  request.bytes = perf::bytesOfCount(plan.collective, plan.type, flags.ranks, plan.count);
  return {};
}

/// As many ranks on each host as on the next, as far as that is possible, one behind the other.
std::shared_ptr<const HostMap> evenHosts(const ExplainFlags& flags) {
  std::vector<int> hosts;
  for (std::int64_t rank = 0; rank < flags.ranks; ++rank)
    hosts.push_back(static_cast<int>(rank * flags.hosts / flags.ranks));
  return std::make_shared<const HostMap>(hosts);
}

/// What the ranks would agree on, on the machine that the flags name.
Result<PlanFacts> factsFor(const ExplainFlags& flags, const Config& config) {
  if (flags.cpus > 0) {
    PlanFacts facts =
        factsOn(flatTopology(ProcessorMask::range(0, flags.cpus - 1)), flags.ranks, config);
    facts.cpus = flags.cpus;
    return facts;
  }
  if (flags.machine.empty()) return factsOfThreads(flags.ranks, config);
  const Result<Topology> topology = topologyOf(flags.machine);
  RONDO_RETURN_IF_ERROR(topology.status());
  return factsOn(*topology, flags.ranks, config);
}

/// The settings as a communicator of a program with these wishes would find them.
Status readSettings(const ExplainFlags& flags, ExplainRequest& request) {
  rondoConfig_t wishes = RONDO_CONFIG_INITIALIZER;
  std::string algorithm;
  if (!flags.algorithm.empty()) {
    const Collective collective = request.plan.collective;
    const Result<AlgorithmId> id = findAlgorithmNamed(collective, flags.algorithm);
    RONDO_RETURN_IF_ERROR(id.status().withContext("--algorithm"));
    algorithm = fmt::format("{}:{}", collectiveName(collective), flags.algorithm);
    wishes.algorithm = algorithm.c_str();
  }
  if (!flags.chunkBytes.empty()) {
    const Result<std::size_t> bytes = parseSize(flags.chunkBytes);
    RONDO_RETURN_IF_ERROR(bytes.status().withContext("--chunk-bytes"));
    wishes.chunkBytes = static_cast<std::int64_t>(*bytes);
  }
  if (flags.channels != 0) wishes.channels = flags.channels;
  if (flags.slots != 0) wishes.slotsPerConnection = flags.slots;
  if (flags.reproducible) wishes.reproducible = 1;
  const Result<Config> config = loadConfig(&wishes, processEnvironment());
  RONDO_RETURN_IF_ERROR(config.status());
  request.settings = PlanSettings::of(*config);
  const Result<PlanFacts> facts = factsFor(flags, *config);
  RONDO_RETURN_IF_ERROR(facts.status());
  request.facts = *facts;
  if (flags.hosts > 1) {
    request.facts.hosts = evenHosts(flags);
    request.facts.workers = 1;  // ranks do not all share memory
  } else {
    request.facts.mailboxBytes = config->mailboxBytes;
  }
  return {};
}

Status readShown(const ExplainFlags& flags, ExplainRequest& request) {
  request.everything = flags.all;
  if (flags.rank >= 0) {
    request.shownRanks = {flags.rank};
    return checkRank("--rank", flags.rank, flags.ranks);
  }
  const int shown = flags.all || flags.ranks <= kFewRanks ? flags.ranks : 1;
  for (int rank = 0; rank < shown; ++rank)
    request.shownRanks.push_back(rank);
  return {};
}

}  // namespace

void addExplainFlags(CLI::App& app, ExplainFlags& flags) {
  app.add_option("OPERATION", flags.operation, "One of " + namesOfCollectives());
  app.add_option("SIZE", flags.size, "Bytes, as rondo perf counts them; K, M, G are allowed");
  app.add_option("--ranks,--threads", flags.ranks, "Ranks [4]");
  app.add_option("--hosts", flags.hosts, "Hosts that the ranks are on, evenly [1]");
  app.add_option("-d,--datatype", flags.type, "Element type [float]");
  app.add_option("-o,--op", flags.op, "sum, prod, min, max, avg or premulsum [sum]");
  app.add_option("-r,--root", flags.root, "Root, where there is one [0]");
  app.add_option("--rank", flags.rank, "Show the steps of this rank only");
  app.add_option("--algorithm", flags.algorithm, "Explain this one [the planner's choice]");
  app.add_option("--channels", flags.channels, "Parallel lanes, 1 to 32");
  app.add_option("--chunk-bytes", flags.chunkBytes, "Bytes of a slot, a multiple of 64");
  app.add_option("--slots", flags.slots, "Slots of a connection, 2 to 64");
  app.add_flag("--reproducible", flags.reproducible, "Add in rank order whatever the size");
  app.add_option("--cpus", flags.cpus, "Processors that the ranks share [those of this machine]");
  app.add_flag("--all", flags.all, "Leave nothing out of long lists");
  app.add_flag("--topology", flags.topology,
               "Show the machine and where --ranks should run on it, and end");
  app.add_option("--machine", flags.machine,
                 "The machine that the ranks are on: a file of lstopo (XML), or e.g. "
                 "\"package:2 l3:8 core:8 pu:2\" [this machine]");
  app.add_flag("--settings", flags.settings,
               "List all settings with the values that they have here, and end");
  app.add_flag("--list", flags.list, "List the algorithms of all operations, and end");
}

Status checkRanks(int ranks) {
  if (ranks >= 1 && ranks <= kMostExplainedRanks) return {};
  return Status::invalidArgument("--ranks: {} is not from 1 to {}", ranks, kMostExplainedRanks);
}

Result<ExplainRequest> understand(const ExplainFlags& flags) {
  if (flags.operation.empty()) {
    return Status::invalidArgument(
        "OPERATION is missing, e.g. rondo explain all_reduce 1M; --list has the algorithms");
  }
  RONDO_RETURN_IF_ERROR(checkRanks(flags.ranks));
  if (flags.hosts < 1 || flags.hosts > flags.ranks) {
    return Status::invalidArgument("--hosts: {} is not from 1 to the number of ranks, {}",
                                   flags.hosts, flags.ranks);
  }
  ExplainRequest request;
  RONDO_RETURN_IF_ERROR(readOperation(flags, request));
  RONDO_RETURN_IF_ERROR(readCount(flags, request));
  RONDO_RETURN_IF_ERROR(readSettings(flags, request));
  RONDO_RETURN_IF_ERROR(readShown(flags, request));
  return request;
}

}  // namespace rondo::cli
