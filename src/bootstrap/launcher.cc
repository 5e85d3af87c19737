#include "src/bootstrap/launcher.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "src/net/socket_address.h"

namespace rondo {

namespace {

constexpr int kLastPort = 65535;
/// How many ports rank 0 may choose from where a launcher leaves it the choice: enough to step over
/// what else listens there, few enough to be looked through in milliseconds.
constexpr int kPortChoices = 16;

/// Where Slurm jobs' blocks of ports are: below those that Linux gives to outgoing connections.
constexpr int kSlurmFirstPort = 20000;
constexpr int kSlurmPortBlocks = 625;

/// The variables, with errors that name them.
class Variables {
 public:
  explicit Variables(const Environment& environment) : environment_(environment) {}

  bool has(std::string_view name) const { return !text(name).empty(); }

  /// Empty if it is not set, as an empty variable counts as not set.
  std::string text(std::string_view name) const {
    const auto found = environment_.find(name);
    return found == environment_.end() ? std::string() : found->second;
  }

  /// @errors InvalidArgument: missing, or no number >= 0
  Result<int> number(std::string_view name, Launcher launcher) const {
    const std::string value = text(name);
    if (value.empty()) {
      return Status::invalidArgument("{} is not set, but other variables of {} are", name,
                                     launcherName(launcher));
    }
    int number = -1;
    const char* const end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, number);
    if (error == std::errc{} && stop == end && number >= 0) return number;
    return Status::invalidArgument("{} is \"{}\", which is no whole number from 0 on", name, value);
  }

 private:
  const Environment& environment_;
};

/// The names of the variables that hold a launch's numbers; empty: there is none.
struct NumberNames {
  std::string_view rank;
  std::string_view ranks;
  std::string_view localRank;
  std::string_view localRanks;
};

Status checkRank(int rank, std::string_view rankName, int ranks, std::string_view ranksName) {
  if (ranks >= 1 && rank < ranks) return {};
  return Status::invalidArgument("{} is {} and {} is {}; ranks go from 0 to their number less one",
                                 rankName, rank, ranksName, ranks);
}

/// Reads a pair of numbers of which either may not be there.
Status readLocalNumbers(const Variables& variables, const NumberNames& names, Launch& launch) {
  if (!names.localRank.empty() && variables.has(names.localRank)) {
    const Result<int> rank = variables.number(names.localRank, launch.launcher);
    RONDO_RETURN_IF_ERROR(rank.status());
    launch.localRank = *rank;
  }
  if (names.localRanks.empty() || !variables.has(names.localRanks)) return {};
  const Result<int> ranks = variables.number(names.localRanks, launch.launcher);
  RONDO_RETURN_IF_ERROR(ranks.status());
  launch.localRanks = *ranks;
  if (!launch.localRank) return {};
  return checkRank(*launch.localRank, names.localRank, *launch.localRanks, names.localRanks);
}

/// Everything that is a number.
Result<Launch> readNumbers(const Variables& variables,
                           Launcher launcher,
                           const NumberNames& names) {
  Launch launch;
  launch.launcher = launcher;
  const Result<int> rank = variables.number(names.rank, launcher);
  RONDO_RETURN_IF_ERROR(rank.status());
  const Result<int> ranks = variables.number(names.ranks, launcher);
  RONDO_RETURN_IF_ERROR(ranks.status());
  launch.rank = *rank;
  launch.ranks = *ranks;
  RONDO_RETURN_IF_ERROR(checkRank(*rank, names.rank, *ranks, names.ranks));
  RONDO_RETURN_IF_ERROR(readLocalNumbers(variables, names, launch));
  launch.evidence = fmt::format("{} and {}", names.rank, names.ranks);
  return launch;
}

PortRange chosenPorts(const MeetingSettings& settings, PortRange defaults) {
  if (settings.portFirst == 0) return defaults;
  return {settings.portFirst, settings.portLast};
}

/// Lets the ranks meet at `place`.
void meetAt(Launch& launch, RootPlace place) {
  launch.place = MeetingPlace::kRoot;
  launch.root = std::move(place);
}

/// Lets the ranks meet at RONDO_ROOT.
Status meetAtSetting(Launch& launch, const MeetingSettings& settings) {
  Result<RootPlace> root = parseRootPlace(settings.root, chosenPorts(settings, {}));
  if (!root.ok()) return root.status().withContext("RONDO_ROOT");
  meetAt(launch, *std::move(root));
  return {};
}

Result<Launch> fromVariables(const MeetingSettings& settings) {
  Launch launch;
  launch.launcher = Launcher::kVariables;
  if (!settings.rank) return Status::invalidArgument("RONDO_RANKS is set, but RONDO_RANK is not");
  if (!settings.ranks) return Status::invalidArgument("RONDO_RANK is set, but RONDO_RANKS is not");
  launch.rank = *settings.rank;
  launch.ranks = *settings.ranks;
  RONDO_RETURN_IF_ERROR(checkRank(launch.rank, "RONDO_RANK", launch.ranks, "RONDO_RANKS"));
  launch.evidence = "RONDO_RANK and RONDO_RANKS";
  if (launch.ranks > 1 && settings.root.empty()) {
    return Status::invalidArgument(
        "RONDO_RANK is set, but RONDO_ROOT is not; set it to where rank 0 listens, as in "
        "node1:4000, the same on all ranks");
  }
  return launch;
}

/// torchrun's MASTER_PORT belongs to its own store; rank 0 takes one of those behind it.
Result<Launch> fromTorchrun(const MeetingSettings& settings, const Variables& variables) {
  Result<Launch> launch = readNumbers(variables, Launcher::kTorchrun,
                                      {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"});
  if (!launch.ok() || launch->ranks == 1 || !settings.root.empty()) return launch;
  const std::string host = variables.text("MASTER_ADDR");
  if (host.empty()) {
    return Status::invalidArgument("MASTER_ADDR is not set, but other variables of torchrun are");
  }
  const Result<int> master = variables.number("MASTER_PORT", Launcher::kTorchrun);
  RONDO_RETURN_IF_ERROR(master.status());
  if (*master < 1 || *master >= kLastPort) {
    return Status::invalidArgument(
        "MASTER_PORT is {}; the ports behind it are needed, so it can be 1 to {}", *master,
        kLastPort - 1);
  }
  const PortRange ports =
      chosenPorts(settings, {*master + 1, std::min(*master + kPortChoices, kLastPort)});
  if (ports.first <= *master && *master <= ports.last) {
    return Status::invalidArgument(
        "RONDO_PORT includes {}, which is MASTER_PORT and belongs to torchrun's own store",
        *master);
  }
  meetAt(*launch, {host, ports});
  launch->evidence += ", MASTER_ADDR and MASTER_PORT";
  launch->job =
      fmt::format("torchrun {} {} {} {}", host, *master, variables.text("TORCHELASTIC_RUN_ID"),
                  variables.text("TORCHELASTIC_RESTART_COUNT"));
  return launch;
}

Result<Launch> fromOpenMpi(const MeetingSettings& settings, const Variables& variables) {
  Result<Launch> launch = readNumbers(variables, Launcher::kOpenMpi,
                                      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                       "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"});
  if (!launch.ok() || launch->ranks == 1) return launch;
  launch->job = fmt::format("open mpi {}", variables.text("PMIX_NAMESPACE"));
  if (!settings.root.empty()) return launch;
  if (!variables.has("PMIX_NAMESPACE")) {
    return Status::invalidArgument(
        "PMIX_NAMESPACE is not set, but other variables of Open MPI are; with a launcher that has "
        "no "
        "PMIx (Open MPI has it from version 2 on), set RONDO_ROOT to where rank 0 listens");
  }
  launch->place = MeetingPlace::kPmix;
  return launch;
}

Result<Launch> fromMpich(const MeetingSettings& settings, const Variables& variables) {
  Result<Launch> launch = readNumbers(
      variables, Launcher::kMpich, {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"});
  if (!launch.ok() || launch->ranks == 1) return launch;
  launch->job = fmt::format("mpich {}", variables.text("PMI_JOBID"));
  if (!settings.root.empty()) return launch;
  const Result<int> descriptor = variables.number("PMI_FD", Launcher::kMpich);
  RONDO_RETURN_IF_ERROR(descriptor.status());
  launch->place = MeetingPlace::kPmi1;
  launch->pmiDescriptor = *descriptor;
  launch->evidence += ", PMI_FD";
  return launch;
}

/// A block of ports of the job's own, as far as there are enough.
Result<PortRange> slurmPorts(const Variables& variables) {
  const Result<int> job = variables.number("SLURM_JOB_ID", Launcher::kSlurm);
  RONDO_RETURN_IF_ERROR(job.status());
  const Result<int> step = variables.number("SLURM_STEP_ID", Launcher::kSlurm);
  RONDO_RETURN_IF_ERROR(step.status());
  constexpr std::int64_t kStepStride = 131;  // prime, so that steps of near-by jobs rarely meet
  const std::int64_t block = (*job + kStepStride * *step) % kSlurmPortBlocks;
  const int first = kSlurmFirstPort + static_cast<int>(block) * kPortChoices;
  return PortRange{first, first + kPortChoices - 1};
}

Result<Launch> fromSlurm(const MeetingSettings& settings, const Variables& variables) {
  Result<Launch> launch = readNumbers(variables, Launcher::kSlurm,
                                      {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", {}});
  if (!launch.ok() || launch->ranks == 1) return launch;
  const Result<PortRange> ports = slurmPorts(variables);
  RONDO_RETURN_IF_ERROR(ports.status());
  launch->job =
      fmt::format("slurm {} {}", variables.text("SLURM_JOB_ID"), variables.text("SLURM_STEP_ID"));
  if (!settings.root.empty()) return launch;
  if (variables.has("PMIX_NAMESPACE") && variables.has("PMIX_RANK")) {
    launch->place = MeetingPlace::kPmix;
    launch->evidence += ", PMIX_NAMESPACE";
    return launch;
  }
  const std::string_view listName =
      variables.has("SLURM_STEP_NODELIST") ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST";
  const std::string host = firstSlurmHost(variables.text(listName));
  if (host.empty()) {
    return Status::invalidArgument("{} is \"{}\", which names no host; set RONDO_ROOT instead",
                                   listName, variables.text(listName));
  }
  meetAt(*launch, {host, chosenPorts(settings, *ports)});
  launch->evidence += fmt::format(", {} and SLURM_JOB_ID", listName);
  return launch;
}

/// srun offers PMI-2 under names of PMI-1's; then both say the same, and Slurm's own are used.
bool mpichIsThere(const Variables& variables) {
  const bool isSlurms = variables.has("SLURM_PROCID") &&
                        variables.text("PMI_RANK") == variables.text("SLURM_PROCID") &&
                        variables.text("PMI_SIZE") == variables.text("SLURM_NTASKS");
  return variables.has("PMI_RANK") && variables.has("PMI_SIZE") && !isSlurms;
}

bool torchrunIsThere(const Variables& variables) {
  return variables.has("RANK") && (variables.has("WORLD_SIZE") || variables.has("MASTER_ADDR") ||
                                   variables.has("MASTER_PORT"));
}

/// A batch script has a process number too, but is no step: what it starts is one process.
bool slurmIsThere(const Variables& variables) {
  return variables.has("SLURM_PROCID") && variables.has("SLURM_STEP_ID");
}

/// MPI's launchers come before Slurm, since mpirun in an allocation leaves the variables of the
/// step that it runs in to its ranks.
std::optional<Launcher> firstThere(const MeetingSettings& settings, const Variables& variables) {
  if (settings.rank || settings.ranks) return Launcher::kVariables;
  if (torchrunIsThere(variables)) return Launcher::kTorchrun;
  if (variables.has("OMPI_COMM_WORLD_RANK")) return Launcher::kOpenMpi;
  if (mpichIsThere(variables)) return Launcher::kMpich;
  if (slurmIsThere(variables)) return Launcher::kSlurm;
  return std::nullopt;
}

Status nobodyThere() {
  return Status::invalidArgument(
      "no launcher has told this process its rank. Looked for, in this order: RONDO_RANK and "
      "RONDO_RANKS (by hand, or `rondo run`); RANK and WORLD_SIZE (torchrun); OMPI_COMM_WORLD_RANK "
      "(mpirun of Open MPI); PMI_RANK and PMI_SIZE (mpiexec of MPICH); SLURM_PROCID and "
      "SLURM_STEP_ID (srun). For a single process set RONDO_RANK=0 RONDO_RANKS=1");
}

Result<Launch> findFirst(const MeetingSettings& settings, const Variables& variables) {
  const std::optional<Launcher> launcher = firstThere(settings, variables);
  if (!launcher) return nobodyThere();
  switch (*launcher) {
    case Launcher::kVariables:
      return fromVariables(settings);
    case Launcher::kTorchrun:
      return fromTorchrun(settings, variables);
    case Launcher::kOpenMpi:
      return fromOpenMpi(settings, variables);
    case Launcher::kMpich:
      return fromMpich(settings, variables);
    case Launcher::kSlurm:
      return fromSlurm(settings, variables);
  }
  return nobodyThere();
}

bool isNumber(std::string_view text, int& number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end;
}

/// Reads "4000" or "4000-4015".
bool readPorts(std::string_view text, PortRange& ports) {
  const std::size_t dash = std::min(text.find('-'), text.size());
  if (!isNumber(text.substr(0, dash), ports.first)) return false;
  ports.last = ports.first;
  if (dash < text.size() && !isNumber(text.substr(dash + 1), ports.last)) return false;
  return ports.first >= 1 && ports.first <= ports.last && ports.last <= kLastPort;
}

}  // namespace

std::string_view launcherName(Launcher launcher) {
  switch (launcher) {
    case Launcher::kVariables:
      return "RONDO_RANK";
    case Launcher::kTorchrun:
      return "torchrun";
    case Launcher::kOpenMpi:
      return "Open MPI";
    case Launcher::kMpich:
      return "MPICH";
    case Launcher::kSlurm:
      return "Slurm";
  }
  return "unknown";
}

bool isLaunched(const MeetingSettings& settings, const Environment& environment) {
  return firstThere(settings, Variables(environment)).has_value();
}

Result<Launch> findLaunch(const MeetingSettings& settings, const Environment& environment) {
  Result<Launch> launch = findFirst(settings, Variables(environment));
  if (!launch.ok() || launch->ranks == 1 || settings.root.empty()) return launch;
  RONDO_RETURN_IF_ERROR(meetAtSetting(*launch, settings));
  launch->evidence += ", RONDO_ROOT";
  if (launch->job.empty()) {
    launch->job = fmt::format("{} {}", launcherName(launch->launcher), launch->root.ports.first);
  }
  return launch;
}

Result<RootPlace> parseRootPlace(std::string_view text, PortRange defaults) {
  RootPlace place{std::string(text), defaults};
  const std::size_t colon = text.rfind(':');
  const bool isBareNumber = SocketAddress::parseHost(text).has_value();
  if (!isBareNumber && colon != std::string_view::npos) {
    place.host = text.substr(0, colon);
    if (!readPorts(text.substr(colon + 1), place.ports)) {
      return Status::invalidArgument(
          "\"{}\" has no port after its last colon; write a host and a port or ports from 1 to {}, "
          "as "
          "in node1:4000, [fd00::1]:4000 or node1:4000-4015",
          text, kLastPort);
    }
  }
  if (place.host.empty()) return Status::invalidArgument("\"{}\" names no host", text);
  if (place.ports.first == 0) {
    return Status::invalidArgument("\"{}\" names no port; write {}:PORT, or set RONDO_PORT", text,
                                   text);
  }
  return place;
}

std::string firstSlurmHost(std::string_view list) {
  std::string host;
  bool inBrackets = false;
  bool firstIsOver = false;  // of the numbers in the brackets
  for (const char letter : list) {
    if (letter == '[') {
      inBrackets = true;
      firstIsOver = false;
    } else if (letter == ']') {
      inBrackets = false;
    } else if (!inBrackets) {
      if (letter == ',') break;
      host += letter;
    } else {
      firstIsOver = firstIsOver || letter == '-' || letter == ',';
      if (!firstIsOver) host += letter;
    }
  }
  return host;
}

}  // namespace rondo
