#include "src/rank_info.h"

#include <algorithm>
#include <bit>
#include <fstream>

#include <nlohmann/json.hpp>
#include <sched.h>
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

ProcessorMask allowedProcessors() {
  ProcessorMask processors{};
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (::sched_getaffinity(0, sizeof mask, &mask) != 0) return processors;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) processors[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
  }
  return processors;
}

/// The planner's inputs, by the names under which users know them.
Json plannerInputs(const RankInfo& info) {
  return {{"slots of bytes (RONDO_CHUNK_BYTES)", info.slotBytes},
          {"slots per connection (RONDO_SLOTS_PER_CONNECTION)", info.slotCount},
          {"channels (RONDO_CHANNELS)", info.channels},
          {"reproducible (RONDO_REPRODUCIBLE)", info.reproducible},
          {"algorithms (RONDO_ALGORITHM)", info.algorithms}};
}

}  // namespace

std::string encodeRankInfo(const RankInfo& info) {
  const Json json = {{"process", info.process},      {"host", info.host},
                     {"socket", info.socket},        {"processors", info.processors},
                     {"slotBytes", info.slotBytes},  {"slotCount", info.slotCount},
                     {"channels", info.channels},    {"reproducible", info.reproducible},
                     {"algorithms", info.algorithms}};
  return json.dump();
}

Result<RankInfo> decodeRankInfo(int rank, std::string_view text) {
  const auto unreadable = [rank] {
    return Status::mismatch(
        "rank {} introduced itself in a way this version does not understand; all ranks must use "
        "the same version of the library",
        rank);
  };
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return unreadable();
  try {
    RankInfo info;
    json.at("process").get_to(info.process);
    json.at("host").get_to(info.host);
    json.at("socket").get_to(info.socket);
    json.at("processors").get_to(info.processors);
    json.at("slotBytes").get_to(info.slotBytes);
    json.at("slotCount").get_to(info.slotCount);
    json.at("channels").get_to(info.channels);
    json.at("reproducible").get_to(info.reproducible);
    json.at("algorithms").get_to(info.algorithms);
    return info;
  } catch (const Json::exception&) {  // a field is missing or of another type
    return unreadable();
  }
}

std::string hostIdentity(std::string_view override) {
  if (!override.empty()) return std::string(override);
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return fmt::format("{} {} {}", boot, namespaceName("pid"), namespaceName("net"));
}

RankInfo describeThisRank(const Config& config) {
  RankInfo info;
  info.process = ::getpid();
  info.host = hostIdentity(config.meeting.hostId);
  info.processors = allowedProcessors();
  info.channels = config.channels;
  info.reproducible = config.reproducible ? 1 : 0;
  for (std::size_t i = 0; i < config.algorithms.size(); ++i) {
    const std::optional<AlgorithmId>& chosen = config.algorithms[i];
    info.algorithms[i] =
        chosen.has_value() ? static_cast<std::uint8_t>(static_cast<int>(*chosen) + 1) : 0;
  }
  return info;
}

Status checkAgreement(std::span<const RankInfo> infos) {
  const Json first = plannerInputs(infos.front());
  for (std::size_t rank = 1; rank < infos.size(); ++rank) {
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

int sharedProcessors(std::span<const RankInfo> infos) {
  ProcessorMask all{};
  for (const RankInfo& info : infos) {
    for (std::size_t word = 0; word < all.size(); ++word)
      all[word] |= info.processors[word];
  }
  int count = 0;
  for (const std::uint64_t word : all)
    count += std::popcount(word);
  return std::max(count, 1);
}

}  // namespace rondo
