#include "src/config.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>
#include <type_traits>
#include <utility>

#include <unistd.h>

namespace rondo {

namespace {

/// A whole number >= 0.
std::optional<std::int64_t> parseNumber(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < 0) return std::nullopt;
  return value;
}

/// Stores 0, or a multiple of kUnit from kUnit * kMin to kUnit * kMax.
template <auto kMember, std::int64_t kMin, std::int64_t kMax, std::int64_t kUnit = 1>
Verdict storeNumber(Config& config, std::string_view text) {
  const std::optional<std::int64_t> value = parseNumber(text);
  if (!value) return {false, {}};
  const bool inRange = *value >= kMin * kUnit && *value <= kMax * kUnit && *value % kUnit == 0;
  if (*value != 0 && !inRange) return {false, {}};
  config.*kMember = std::remove_reference_t<decltype(config.*kMember)>(*value);
  return {};
}

Verdict storeName(Config& config, std::string_view text) {
  constexpr std::size_t kMaxBytes = 64;
  const auto printable = [](char c) { return c > ' ' && c <= '~'; };
  if (text.empty() || text.size() > kMaxBytes || !std::ranges::all_of(text, printable)) {
    return {false, {}};
  }
  config.name = text;
  return {};
}

Verdict storeLogLevel(Config& config, std::string_view text) {
  const std::optional<LogLevel> level = findLogLevel(text);
  if (!level) return {false, {}};
  config.log.level = *level;
  return {};
}

Verdict storeLogFile(Config& config, std::string_view text) {
  const Result<std::string> path = expandLogFile(text, "host", 0);
  if (!path.ok()) return {false, {}};
  config.log.file = text;
  return {};
}

Verdict storeAlgorithms(Config& config, std::string_view text) {
  Result<std::vector<PlanRule>> rules = parsePlanRules(text);
  if (!rules.ok()) return {false, std::string(rules.status().message())};
  config.algorithms = *std::move(rules);
  return {};
}

Verdict storeTuningFile(Config& config, std::string_view text) {
  Result<TuningTable> table = TuningTable::load(std::string(text));
  if (!table.ok()) return {false, std::string(table.status().message())};
  config.tuning = std::make_shared<const TuningTable>(*std::move(table));
  return {};
}

/// Stores a list of transports; their order is the library's.
Verdict storeTransports(Config& config, std::string_view text) {
  std::vector<std::string_view> chosen;
  for (bool more = true; more;) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto* const known = std::ranges::find(kTransports, text.substr(0, comma));
    if (known == kTransports.end()) return {false, {}};
    chosen.push_back(*known);
    more = comma < text.size();
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  std::erase_if(config.transports, [&](std::string_view transport) {
    return std::ranges::find(chosen, transport) == chosen.end();
  });
  return {};
}

/// Stores "host" or -1, "local", or the number of a CUDA device.
Verdict storeDevice(Config& config, std::string_view text) {
  constexpr std::int64_t kMost = 1 << 10;
  const std::optional<std::int64_t> number = parseNumber(text);
  if (number.has_value() && *number > kMost) return {false, {}};
  const bool host = text == "host" || text == "-1";
  const bool local = text == "local";
  if (!number.has_value() && !host && !local) return {false, {}};
  config.device = number.has_value() ? std::optional(static_cast<int>(*number)) : std::nullopt;
  config.deviceIsLocalRank = local;
  return {};
}

Verdict storeProtocol(Config& config, std::string_view text) {
  config.cudaProtocol = device::findProtocol(text);
  return {config.cudaProtocol.has_value() || text == "auto", {}};
}

Verdict storeStorePolicy(Config& config, std::string_view text) {
  if (text == "measured") {
    config.stores = host::StorePolicy::kMeasured;
  } else if (text == "plain") {
    config.stores = host::StorePolicy::kPlain;
  } else if (text == "streamed") {
    config.stores = host::StorePolicy::kStreamed;
  } else {
    return {false, {}};
  }
  return {};
}

/// Stores a text that is printable and has no spaces, as addresses, names and patterns have none.
Verdict storeWordIn(std::string& member, std::string_view text) {
  constexpr std::size_t kMaxBytes = 1024;
  const auto printable = [](char c) { return c > ' ' && c <= '~'; };
  if (text.size() > kMaxBytes || !std::ranges::all_of(text, printable)) return {false, {}};
  member = text;
  return {};
}

template <auto kMember>
Verdict storeWord(Config& config, std::string_view text) {
  return storeWordIn(config.meeting.*kMember, text);
}

Verdict storeIbDevices(Config& config, std::string_view text) {
  return storeWordIn(config.verbs.devices, text);
}

/// Stores a whole number from kLeast to kMost.
template <auto kMember, std::int64_t kMost, std::int64_t kLeast = 0>
Verdict storeIbNumber(Config& config, std::string_view text) {
  const std::optional<std::int64_t> value = parseNumber(text);
  if (!value || *value < kLeast || *value > kMost) return {false, {}};
  config.verbs.*kMember = static_cast<std::uint8_t>(*value);
  return {};
}

/// Stores a whole number from kMin on.
template <auto kMember, int kMin>
Verdict storeRank(Config& config, std::string_view text) {
  constexpr std::int64_t kMost = 1 << 20;
  const std::optional<std::int64_t> value = parseNumber(text);
  if (!value || *value < kMin || *value > kMost) return {false, {}};
  config.meeting.*kMember = static_cast<int>(*value);
  return {};
}

Verdict storePorts(Config& config, std::string_view text) {
  constexpr std::int64_t kMost = 65535;
  const std::size_t dash = std::min(text.find('-'), text.size());
  const std::optional<std::int64_t> first = parseNumber(text.substr(0, dash));
  const std::optional<std::int64_t> last =
      dash == text.size() ? first : parseNumber(text.substr(dash + 1));
  if (!first || !last || *first < 1 || *first > *last || *last > kMost) return {false, {}};
  config.meeting.portFirst = static_cast<int>(*first);
  config.meeting.portLast = static_cast<int>(*last);
  return {};
}

/// Short secrets could be guessed from a recorded handshake.
Verdict storeSecret(Config& config, std::string_view text) {
  constexpr std::size_t kMinBytes = 16;
  if (text.size() < kMinBytes) return {false, fmt::format("it has {}", text.size())};
  config.meeting.secret = text;
  return {};
}

Verdict storeSecretFile(Config& config, std::string_view text) {
  config.meeting.secretFile = text;
  return {};
}

constexpr std::string_view kMillisAccepted = "milliseconds up to 2147483647, or 0 for never";
constexpr std::int64_t kMaxMillis = std::numeric_limits<std::int32_t>::max();

constexpr Setting kSettings[] = {
    {"RONDO_COMM_NAME", "name", &rondoConfig_t::name, "world",
     "1 to 64 printable characters without spaces",
     "the communicator's name in messages and in the log", storeName},
    {"RONDO_ALGORITHM", "algorithm", &rondoConfig_t::algorithm, "",
     "a list such as all_reduce:two_shot/16K@32K-1M,broadcast:tree",
     "the algorithm of each collective that it names", storeAlgorithms},
    {"RONDO_TUNING_FILE", "", std::monostate{}, "",
     "the path of a file that rondo tune has written",
     "measurements that choose algorithms and chunks", storeTuningFile},
    {"RONDO_REPRODUCIBLE", "reproducible", &rondoConfig_t::reproducible, "0", "0 or 1",
     "whether results depend on the inputs and the number of ranks alone",
     storeNumber<&Config::reproducible, 1, 1>},
    {"RONDO_CHANNELS", "channels", &rondoConfig_t::channels, "0",
     "1 to 32, or 0 for the planner's choice", "parallel lanes of an operation",
     storeNumber<&Config::channels, 1, 32>},
    {"RONDO_WORKERS", "", std::monostate{}, "0", "1 to 32, or 0 for as many as a rank has cores",
     "threads that carry out a large operation of a rank on host memory",
     storeNumber<&Config::workers, 1, kMostWorkers>},
    {"RONDO_CHUNK_BYTES", "chunkBytes", &rondoConfig_t::chunkBytes, "0",
     "a multiple of 64 up to 67108864, or 0 for the planner's choice",
     "bytes of one slot of a connection", storeNumber<&Config::chunkBytes, 1, (64 << 20) / 64, 64>},
    {"RONDO_SLOTS_PER_CONNECTION", "slotsPerConnection", &rondoConfig_t::slotsPerConnection, "0",
     "2 to 64, or 0 for the planner's choice",
     "slots that a sender may fill before the receiver has emptied one",
     storeNumber<&Config::slotsPerConnection, 2, 64>},
    {"RONDO_SLOT_MEMORY_BYTES", "slotMemoryBytes", &rondoConfig_t::slotMemoryBytes, "33554432",
     "bytes up to 68719476736, or 0 for no limit", "memory for the slots of a rank's process",
     storeNumber<&Config::slotMemoryBytes, 1, std::int64_t{64} << 30>},
    {"RONDO_STORES", "", std::monostate{}, "measured", "measured, plain or streamed",
     "how slots of shared memory and large results are stored: into caches, past them, or as is "
     "faster",
     storeStorePolicy},
    {"RONDO_MAILBOX_BYTES", "", std::monostate{}, "2048", "bytes up to 2048, or 0 for none",
     "messages up to which ranks that share memory exchange in one hop",
     storeNumber<&Config::mailboxBytes, 1, kMailboxBytes>},
    {"RONDO_ZERO_COPY_BYTES", "", std::monostate{}, "4096",
     "bytes up to 1073741824, or 0 for never",
     "pieces from which on ranks, and adapters, read buffers where they are, instead of copies",
     storeNumber<&Config::zeroCopyBytes, 1, 1 << 30>},
    {"RONDO_OPERATION_TIMEOUT_MS", "operationTimeoutMs", &rondoConfig_t::operationTimeoutMs,
     "1800000", kMillisAccepted, "how long an operation waits for another rank before it fails",
     storeNumber<&Config::operationTimeout, 1, kMaxMillis>},
    {"RONDO_WARNING_MS", "warningMs", &rondoConfig_t::warningMs, "30000", kMillisAccepted,
     "how long it waits before the log says so", storeNumber<&Config::warningAfter, 1, kMaxMillis>},
    {"RONDO_INIT_TIMEOUT_MS", "initTimeoutMs", &rondoConfig_t::initTimeoutMs, "300000",
     kMillisAccepted, "how long ranks wait for each other to join",
     storeNumber<&Config::initTimeout, 1, kMaxMillis>},
    {"RONDO_CONNECT_TIMEOUT_MS", "", std::monostate{}, "60000", kMillisAccepted,
     "how long a rank tries to connect to another",
     storeNumber<&Config::connectTimeout, 1, kMaxMillis>},
    {"RONDO_TRANSPORT", "", std::monostate{}, "cuda_ipc,shm,verbs,tcp",
     "a list of cuda_ipc, shm, verbs and tcp", "what may be used between processes",
     storeTransports},
    {"RONDO_DEVICE", "device", &rondoConfig_t::device, "host",
     "the number of a CUDA device, host (or -1), or local for the launcher's local rank",
     "where the buffers of ranks that are processes lie", storeDevice},
    {"RONDO_BLOCKING", "blocking", &rondoConfig_t::blocking, "1", "0 or 1",
     "whether calls wait for what they carry out", storeNumber<&Config::blocking, 1, 1>},
    {"RONDO_CUDA_PROTOCOL", "", std::monostate{}, "auto", "auto, slots, lines or wide_lines",
     "how kernels on CUDA devices hand data over", storeProtocol},
    {"RONDO_LOG_LEVEL", "logLevel", &rondoConfig_t::logLevel, "warn",
     "error, warn, info, debug or trace", "how much is logged", storeLogLevel},
    {"RONDO_LOG_FILE", "", std::monostate{}, "",
     "a path; %h in it is the host name, %p the process id, %% a percent sign",
     "where the log goes instead of stderr", storeLogFile},
    {"RONDO_INTERFACE", "", std::monostate{}, "", "a list such as eth*,ib0, or ^docker*,lo",
     "network interfaces whose addresses may be told to others",
     storeWord<&MeetingSettings::interfaces>},
    {"RONDO_PORT", "", std::monostate{}, "", "a port or a range such as 5000-5100",
     "where the process listens by which ranks meet", storePorts},
    {"RONDO_ADVERTISE", "", std::monostate{}, "", "an address such as 10.0.0.1 or 10.0.0.1:4000",
     "the address told to others instead of the interfaces'",
     storeWord<&MeetingSettings::advertise>},
    {"RONDO_HOST_ID", "", std::monostate{}, "", "printable characters without spaces",
     "the identity of this host; equal ones share memory", storeWord<&MeetingSettings::hostId>},
    {"RONDO_IB_DEVICES", "", std::monostate{}, "", "a list such as mlx5_0:1,mlx5_2, or ^mlx5_3",
     "adapters, or ports of them, that may be used", storeIbDevices},
    {"RONDO_IB_GID_INDEX", "", std::monostate{}, "", "an index of the port's table of GIDs, to 255",
     "the entry of RoCE ports' tables of addresses to use",
     storeIbNumber<&verbs::Settings::gidIndex, 255>},
    {"RONDO_IB_TRAFFIC_CLASS", "", std::monostate{}, "0", "0 to 255",
     "the traffic class of packets", storeIbNumber<&verbs::Settings::trafficClass, 255>},
    {"RONDO_IB_SERVICE_LEVEL", "", std::monostate{}, "0", "0 to 15", "the service level of packets",
     storeIbNumber<&verbs::Settings::serviceLevel, 15>},
    {"RONDO_IB_TIMEOUT", "", std::monostate{}, "18", "1 to 31",
     "how long an adapter waits for an acknowledgement: 4.096 us * 2^timeout",
     storeIbNumber<&verbs::Settings::timeout, 31, 1>},
    {"RONDO_IB_RETRIES", "", std::monostate{}, "7", "0 to 7",
     "how often an adapter repeats before the connection has failed",
     storeIbNumber<&verbs::Settings::retries, 7>},
    {"RONDO_RANK", "", std::monostate{}, "", "this rank's number, from 0",
     "who a rank is, where no launcher tells", storeRank<&MeetingSettings::rank, 0>},
    {"RONDO_RANKS", "", std::monostate{}, "", "the number of ranks, from 1",
     "how many ranks there are, where no launcher tells", storeRank<&MeetingSettings::ranks, 1>},
    {"RONDO_ROOT", "", std::monostate{}, "", "a host and a port or ports, such as node1:4000",
     "where rank 0 listens, where no launcher tells", storeWord<&MeetingSettings::root>},
    {"RONDO_SECRET", "", std::monostate{}, "", "16 characters or more",
     "what the ranks of a job have in common and nobody else knows", storeSecret, true},
    {"RONDO_SECRET_FILE", "", std::monostate{}, "", "a path", "the file that holds the secret",
     storeSecretFile},
};

/// A number or text of the program's struct as text; empty if it is not set.
struct RequestedText {
  const rondoConfig_t& config;

  std::optional<std::string> operator()(std::monostate) const { return std::nullopt; }

  std::optional<std::string> operator()(std::int64_t rondoConfig_t::*member) const {
    const std::int64_t value = config.*member;
    if (value == RONDO_UNDEFINED) return std::nullopt;
    return std::to_string(value);
  }

  std::optional<std::string> operator()(const char* rondoConfig_t::*member) const {
    const char* const value = config.*member;
    if (value == nullptr) return std::nullopt;
    return value;
  }
};

/// The program's wishes in the shape of this version; a smaller struct of an older one is filled
/// up.
Result<rondoConfig_t> adoptRequested(const rondoConfig_t* requested) {
  rondoConfig_t adopted = RONDO_CONFIG_INITIALIZER;
  if (requested == nullptr) return adopted;
  constexpr std::size_t kHeadBytes = offsetof(rondoConfig_t, name);
  if (requested->magic != RONDO_CONFIG_MAGIC) {
    return Status::invalidArgument(
        "config {} was not initialised; start from RONDO_CONFIG_INITIALIZER",
        static_cast<const void*>(requested));
  }
  if (requested->size > sizeof(rondoConfig_t)) {
    return Status::invalidArgument(
        "config has {} bytes, {} are known: the program was compiled for version {}, the library "
        "is {}; use a library that is at least as new",
        requested->size, sizeof(rondoConfig_t), requested->version, RONDO_VERSION);
  }
  if (requested->size < kHeadBytes || requested->size % sizeof(std::int64_t) != 0) {
    return Status::invalidArgument("config size {} is impossible; leave the field size alone",
                                   requested->size);
  }
  std::memcpy(&adopted, requested, requested->size);
  return adopted;
}

Status applySetting(Config& config,
                    const Setting& setting,
                    std::string_view source,
                    std::string_view value) {
  const Verdict verdict = setting.apply(config, value);
  if (verdict.accepted) return {};
  if (setting.secret) {
    return Status::invalidArgument("{} (its value is not shown) is not accepted; it takes {}; {}",
                                   source, setting.accepted, verdict.detail);
  }
  return Status::invalidArgument("{} value \"{}\" is not accepted; it takes {}{}{}", source, value,
                                 setting.accepted, verdict.detail.empty() ? "" : "; ",
                                 verdict.detail);
}

/// More would suggest names that have little to do with what was written.
constexpr std::size_t kMostWrongLetters = 2;

/// How many letters must be changed, put in or taken out to get from `one` to `other`: Wagner and
/// Fischer's table, one row of which is kept.
std::size_t editDistance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t changed = diagonal + (one[i] == other[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

/// Settles one row of the table.
Status settle(Config& config,
              const Setting& setting,
              const rondoConfig_t& requested,
              const Environment& environment) {
  std::optional<std::string> wish = std::visit(RequestedText{requested}, setting.member);
  const auto variable = environment.find(setting.variable);
  if (variable != environment.end() && !variable->second.empty()) {
    RONDO_RETURN_IF_ERROR(applySetting(config, setting, setting.variable, variable->second));
    config.chosen.push_back(
        {setting.variable, setting.secret ? "(set)" : variable->second, true, std::move(wish)});
  } else if (wish) {
    RONDO_RETURN_IF_ERROR(
        applySetting(config, setting, fmt::format("config field {}", setting.field), *wish));
    config.chosen.push_back({setting.variable, *std::move(wish), false, std::nullopt});
  }
  return {};
}

/// What supplementEnvironment() was given. Of the process, as the environment is.
struct Supplement {
  static Supplement& ofProcess() {
    static Supplement supplement;
    return supplement;
  }

  std::mutex mutex;
  Environment variables;
};

/// What the environment says is said once, not again for every communicator.
bool worthSaying(const ChosenSetting& setting) {
  if (!detail::logEnabled(LogLevel::kInfo)) return false;
  return !setting.fromEnvironment || setting.overruled ||
         firstLogOf(fmt::format("{} value {}", setting.variable, setting.value));
}

}  // namespace

bool Config::allowsTransport(std::string_view transport) const {
  return std::ranges::find(transports, transport) != transports.end();
}

Deadline Config::initDeadline() const {
  const Deadline deadline = Deadline::within(initTimeout);
  return givenUp != nullptr ? deadline.orRaised(*givenUp) : deadline;
}

std::span<const Setting> allSettings() {
  return kSettings;
}

Environment processEnvironment() {
  Environment found = wholeEnvironment();
  std::erase_if(found,
                [](const auto& variable) { return !variable.first.starts_with(kSettingPrefix); });
  Supplement& supplement = Supplement::ofProcess();
  const std::lock_guard lock(supplement.mutex);
  found.insert(supplement.variables.begin(), supplement.variables.end());
  return found;
}

void supplementEnvironment(const Environment& variables) {
  Supplement& supplement = Supplement::ofProcess();
  const std::lock_guard lock(supplement.mutex);
  supplement.variables.insert(variables.begin(), variables.end());
}

Environment wholeEnvironment() {
  Environment found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    found.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return found;
}

std::string_view closestSetting(std::string_view variable) {
  std::size_t least = kMostWrongLetters + 1;
  std::string_view closest;
  for (const Setting& setting : kSettings) {
    const std::size_t distance = editDistance(variable, setting.variable);
    if (distance >= least) continue;
    least = distance;
    closest = setting.variable;
  }
  return closest;
}

Result<Config> loadConfig(const rondoConfig_t* requested, const Environment& environment) {
  const Result<rondoConfig_t> adopted = adoptRequested(requested);
  RONDO_RETURN_IF_ERROR(adopted.status());
  Config config;
  for (const Setting& setting : kSettings) {
    RONDO_RETURN_IF_ERROR(settle(config, setting, *adopted, environment));
  }
  for (const auto& [name, value] : environment) {
    const bool known =
        std::ranges::find(kSettings, name, &Setting::variable) != std::end(kSettings);
    if (!known && name.starts_with(kSettingPrefix)) config.unknownVariables.push_back(name);
  }
  return config;
}

void logConfig(const Config& config) {
  const LogContext context{.communicator = config.name};
  for (const ChosenSetting& setting : config.chosen) {
    if (!worthSaying(setting)) continue;
    RONDO_LOG(kInfo, kConfig, context, "{} value {} from {}{}", setting.variable, setting.value,
              setting.fromEnvironment ? "the environment" : "the program",
              setting.overruled ? fmt::format(" overrules the program's {}", *setting.overruled)
                                : std::string());
  }
  for (const std::string& name : config.unknownVariables) {
    if (!firstLogOf(name)) continue;
    const std::string_view closest = closestSetting(name);
    const std::string hint = closest.empty() ? "docs/configuration.md lists all"
                                             : fmt::format("did you mean {}", closest);
    RONDO_LOG(kWarn, kConfig, "variable {} is unknown and ignored; {}", name, hint);
  }
}

}  // namespace rondo
