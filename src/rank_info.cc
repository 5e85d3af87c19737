#include "src/rank_info.h"

#include <algorithm>
#include <fstream>
#include <map>

#include <nlohmann/json.hpp>
#include <unistd.h>

namespace rondo {

namespace {

using Json = nlohmann::json;

/// The symbolic name of one of this process's namespaces, e.g. "pid:[4026531836]".
std::string namespaceName(const char* kind) {
  std::array<char, 64> name{};
  const std::string path = fmt::format("/proc/self/ns/{}", kind);
  const ssize_t length = ::readlink(path.c_str(), name.data(), name.size());
  return length > 0 ? std::string(name.data(), static_cast<std::size_t>(length)) : "none";
}

/// Of the running kernel: ranks in different namespaces, or that believe to be on different hosts,
/// use the same processors all the same.
std::string bootIdentity() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return boot;
}

/// No field is one; as whole numbers they would be out of range.
bool holdsFractions(const Json& json) {
  return std::ranges::any_of(json, [](const Json& part) {
    return part.is_structured() ? holdsFractions(part) : part.is_number_float();
  });
}

Status unreadable(int rank) {
  return Status::mismatch(
      "rank {} introduced itself in a way this version does not understand; all ranks must use "
      "the same version of the library",
      rank);
}

/// The planner's inputs, by the names under which users know them.
Json plannerInputs(const RankInfo& info) {
  return {{"slots of bytes (RONDO_CHUNK_BYTES, RONDO_SLOT_MEMORY_BYTES)", info.slotBytes},
          {"slots per connection (RONDO_SLOTS_PER_CONNECTION)", info.slotCount},
          {"bytes in mailboxes (RONDO_MAILBOX_BYTES)", info.mailboxBytes},
          {"channels (RONDO_CHANNELS)", info.channels},
          {"reproducible (RONDO_REPRODUCIBLE)", info.reproducible},
          {"algorithms (RONDO_ALGORITHM)", info.algorithms},
          {"checksum of the measurements (RONDO_TUNING_FILE)", info.tuning},
          {"memory (RONDO_DEVICE)", info.onDevice != 0 ? "of CUDA devices" : "of the host"},
          {"transports (RONDO_TRANSPORT)", info.transports}};
}

}  // namespace

std::string encodeRankInfo(const RankInfo& info) {
  const Json json = {{"process", info.process},
                     {"offers", info.offers},
                     {"transports", info.transports},
                     {"processors", info.processors.words()},
                     {"host", info.host},
                     {"machine", info.machine},
                     {"cores", info.cores.words()},
                     {"nodes", info.nodes.words()},
                     {"quota", info.quota},
                     {"workers", info.workers},
                     {"workersAsked", info.workersAsked},
                     {"slotBytes", info.slotBytes},
                     {"slotCount", info.slotCount},
                     {"channels", info.channels},
                     {"reproducible", info.reproducible},
                     {"onDevice", info.onDevice},
                     {"algorithms", info.algorithms},
                     {"mailboxBytes", info.mailboxBytes},
                     {"tuning", info.tuning}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string encodeTexts(const std::vector<std::string>& texts) {
  return Json(texts).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::vector<std::string>> decodeTexts(int rank, std::string_view text, std::size_t count) {
  const Json json = Json::parse(text, nullptr, false);
  const auto isText = [](const Json& entry) { return entry.is_string(); };
  if (json.is_array() && json.size() == count && std::ranges::all_of(json, isText)) {
    return json.get<std::vector<std::string>>();
  }
  return unreadable(rank);
}

Result<RankInfo> decodeRankInfo(int rank, std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || holdsFractions(json)) return unreadable(rank);
  try {
    RankInfo info;
    json.at("process").get_to(info.process);
    json.at("offers").get_to(info.offers);
    json.at("transports").get_to(info.transports);
    info.processors = ProcessorMask(json.at("processors").get<ProcessorMask::Words>());
    json.at("host").get_to(info.host);
    json.at("machine").get_to(info.machine);
    info.cores = ProcessorMask(json.at("cores").get<ProcessorMask::Words>());
    info.nodes = ProcessorMask(json.at("nodes").get<ProcessorMask::Words>());
    json.at("quota").get_to(info.quota);
    json.at("workers").get_to(info.workers);
    json.at("workersAsked").get_to(info.workersAsked);
    json.at("slotBytes").get_to(info.slotBytes);
    json.at("slotCount").get_to(info.slotCount);
    json.at("mailboxBytes").get_to(info.mailboxBytes);
    json.at("channels").get_to(info.channels);
    json.at("reproducible").get_to(info.reproducible);
    json.at("onDevice").get_to(info.onDevice);
    json.at("algorithms").get_to(info.algorithms);
    json.at("tuning").get_to(info.tuning);
    return info;
  } catch (const Json::exception&) {  // a field is missing or of another type
    return unreadable(rank);
  }
}

std::string hostIdentity(std::string_view override) {
  if (!override.empty()) return std::string(override);
  return fmt::format("{} {} {}", bootIdentity(), namespaceName("pid"), namespaceName("net"));
}

RankInfo describeThisRank(const Config& config) {
  RankInfo info;
  info.process = ::getpid();
  info.transports.assign(config.transports.begin(), config.transports.end());
  info.processors = allowedProcessors();
  info.host = hostIdentity(config.meeting.hostId);
  info.machine = bootIdentity();
  info.workersAsked = config.workers > 0 ? 1 : 0;
  info.mailboxBytes = config.mailboxBytes;
  info.channels = config.channels;
  info.reproducible = config.reproducible ? 1 : 0;
  info.onDevice = config.device.has_value() ? 1 : 0;
  for (const PlanRule& rule : config.algorithms)
    info.algorithms.push_back(planRuleText(rule));
  if (config.tuning != nullptr) info.tuning = config.tuning->hash();
  return info;
}

Status checkAgreement(std::span<const RankInfo> infos) {
  const Json first = plannerInputs(infos.front());
  for (std::size_t rank = 1; rank < infos.size(); ++rank) {
    // They are looked up by the place of a transport.
    if (infos[rank].offers.size() != infos.front().offers.size()) {
      return unreadable(static_cast<int>(rank));
    }
    const Json other = plannerInputs(infos[rank]);
    for (const auto& [name, value] : first.items()) {
      if (other.at(name) == value) continue;
      return Status::mismatch(
          "ranks 0 and {} differ in their settings: {} is {} at rank 0 and {} at rank {}; give all "
          "ranks the same",
          rank, name, value.dump(), other.at(name).dump(), rank);
    }
  }
  return {};
}

WorkerFacts agreedWorkers(std::span<const RankInfo> infos) {
  std::vector<RankCores> ranks;
  std::map<std::string_view, int> machines;
  for (const RankInfo& info : infos) {
    const int next = static_cast<int>(machines.size());
    ranks.push_back({.machine = machines.emplace(info.machine, next).first->second,
                     .use = {info.cores, info.nodes},
                     .quota = info.quota,
                     .most = info.workers,
                     .asked = info.workersAsked != 0});
  }
  return workerFacts(ranks);
}

int sharedProcessors(std::span<const RankInfo> infos) {
  std::map<std::string_view, ProcessorMask> masks;
  for (const RankInfo& info : infos)
    masks[info.machine] |= info.processors;
  int all = 0;
  for (const auto& [machine, mask] : masks)
    all += mask.count();
  return std::max(all, 1);
}

std::shared_ptr<const HostMap> hostsOf(std::span<const RankInfo> infos) {
  std::map<std::string_view, int> numbers;
  std::vector<int> hosts;
  for (const RankInfo& info : infos)
    hosts.push_back(numbers.emplace(info.host, static_cast<int>(numbers.size())).first->second);
  return numbers.size() < 2 ? nullptr : std::make_shared<const HostMap>(hosts);
}

}  // namespace rondo
