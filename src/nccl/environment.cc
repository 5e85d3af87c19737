#include "src/nccl/environment.h"

#include <algorithm>
#include <cctype>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "src/log.h"

namespace rondo::nccl {

namespace {

constexpr std::string_view kPrefix = "NCCL_";

using Reading = std::optional<std::string>;

Reading asItIs(std::string_view value) {
  return std::string(value);
}

/// NCCL's negative numbers mean that it chooses, as Rondo does without a value.
Reading unlessNegative(std::string_view value) {
  if (value.starts_with('-')) return std::nullopt;
  return asItIs(value);
}

/// The levels that Rondo's default does not have anyway.
Reading logLevel(std::string_view value) {
  std::string upper(value);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  if (upper == "INFO" || upper == "ABORT") return "info";
  if (upper == "TRACE") return "trace";
  if (upper == "WARN") return "warn";
  return std::nullopt;
}

/// "eth,ib" is a list of beginnings, "=eth0,ib0" one of whole names, and "^" before either rules
/// them out. In Rondo's list names are whole, but for stars.
Reading nameList(std::string_view value) {
  std::string list;
  if (value.starts_with('^')) list = "^";
  value.remove_prefix(list.size());
  const bool whole = value.starts_with('=');
  value.remove_prefix(whole ? 1 : 0);
  std::string_view separator;
  while (!value.empty()) {
    const std::size_t comma = std::min(value.find(','), value.size());
    const std::string_view name = value.substr(0, comma);
    value.remove_prefix(std::min(comma + 1, value.size()));
    if (name.empty()) continue;
    // A port of an adapter, "mlx5_0:1", is a whole name already.
    const bool open = !whole && name.find(':') == std::string_view::npos;
    list += fmt::format("{}{}{}", separator, name, open ? "*" : "");
    separator = ",";
  }
  if (separator.empty()) return std::nullopt;
  return list;
}

/// A variable that has one of Rondo's to itself.
struct Rule {
  std::string_view nccl;
  std::string_view rondo;
  Reading (*read)(std::string_view value);
};

constexpr Rule kRules[] = {
    {"NCCL_DEBUG", "RONDO_LOG_LEVEL", logLevel},
    {"NCCL_DEBUG_FILE", "RONDO_LOG_FILE", asItIs},
    {"NCCL_SOCKET_IFNAME", "RONDO_INTERFACE", nameList},
    {"NCCL_IB_HCA", "RONDO_IB_DEVICES", nameList},
    {"NCCL_IB_GID_INDEX", "RONDO_IB_GID_INDEX", unlessNegative},
    {"NCCL_IB_TC", "RONDO_IB_TRAFFIC_CLASS", unlessNegative},
    {"NCCL_IB_SL", "RONDO_IB_SERVICE_LEVEL", unlessNegative},
    {"NCCL_IB_TIMEOUT", "RONDO_IB_TIMEOUT", unlessNegative},
    {"NCCL_IB_RETRY_CNT", "RONDO_IB_RETRIES", unlessNegative},
};

/// A variable that takes a transport out of the list of those that may be used.
struct Ban {
  std::string_view nccl;
  std::string_view value;
  std::string_view transport;
};

constexpr std::string_view kTransportSetting = "RONDO_TRANSPORT";
constexpr Ban kBans[] = {
    {"NCCL_P2P_DISABLE", "1", "cuda_ipc"},
    {"NCCL_SHM_DISABLE", "1", "shm"},
    {"NCCL_IB_DISABLE", "1", "verbs"},
    {"NCCL_NET", "Socket", "verbs"},
};

const Rule* ruleOf(std::string_view variable) {
  const auto* const rule = std::ranges::find(kRules, variable, &Rule::nccl);
  return rule == std::end(kRules) ? nullptr : rule;
}

bool bans(std::string_view variable, std::string_view value, std::string_view transport) {
  return std::ranges::any_of(kBans, [&](const Ban& ban) {
    return ban.nccl == variable && ban.value == value && ban.transport == transport;
  });
}

/// The transports that no variable takes out; empty if none does.
std::string allowedTransports(const Environment& all) {
  std::string allowed;
  bool banned = false;
  for (std::string_view transport : kTransports) {
    const bool out = std::ranges::any_of(all, [&](const auto& variable) {
      return bans(variable.first, variable.second, transport);
    });
    banned = banned || out;
    if (!out) allowed += fmt::format("{}{}", allowed.empty() ? "" : ",", transport);
  }
  return banned ? allowed : "";
}

/// The setting and value that a variable comes to; an empty name: none.
std::pair<std::string, std::string> settingOf(std::string_view variable,
                                              std::string_view value,
                                              const std::string& transports) {
  if (const Rule* rule = ruleOf(variable); rule != nullptr) {
    const Reading reading = rule->read(value);
    if (reading) return {std::string(rule->rondo), *reading};
  }
  const bool bansOne = std::ranges::any_of(
      kTransports, [&](std::string_view transport) { return bans(variable, value, transport); });
  if (bansOne) return {std::string(kTransportSetting), transports};
  return {};
}

}  // namespace

Translation translate(const Environment& all) {
  Translation translation;
  const std::string transports = allowedTransports(all);
  for (const auto& [variable, value] : all) {
    if (!variable.starts_with(kPrefix)) continue;
    const auto [setting, text] = settingOf(variable, value, transports);
    if (setting.empty()) {
      translation.notes.push_back(fmt::format("{} is {}, which changes nothing", variable, value));
    } else if (all.contains(setting)) {
      translation.notes.push_back(
          fmt::format("{} is {}, but {} is set and counts", variable, value, setting));
    } else {
      translation.notes.push_back(
          fmt::format("{} is {}, so {} is {}", variable, value, setting, text));
      translation.settings.emplace(setting, text);
    }
  }
  return translation;
}

void adoptEnvironment() {
  static std::once_flag once;
  std::call_once(once, [] {
    const Translation translation = translate(wholeEnvironment());
    supplementEnvironment(translation.settings);
    // A wrong value is for the call to report that follows.
    const Result<Config> config = loadConfig(nullptr, processEnvironment());
    if (!config.ok() || !configureLog(config->log).ok()) return;
    for (const std::string& note : translation.notes)
      RONDO_LOG(kInfo, kConfig, "{}", note);
  });
}

}  // namespace rondo::nccl
