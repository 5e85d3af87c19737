#include "src/nccl/comm_config.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "src/log.h"

namespace rondo::nccl {

namespace {

constexpr unsigned kMagic = 0xcafebeef;

/// A number of the struct, and what it may be. Fields without bounds are not looked at any closer.
struct Field {
  std::string_view name;
  int ncclConfig_t::*member;
  int least = INT_MIN;
  int most = INT_MAX;
};

constexpr Field kFields[] = {
    {"blocking", &ncclConfig_t::blocking, 0, 1},
    {"cgaClusterSize", &ncclConfig_t::cgaClusterSize, 0},
    {"minCTAs", &ncclConfig_t::minCTAs, 1},
    {"maxCTAs", &ncclConfig_t::maxCTAs, 1},
    {"splitShare", &ncclConfig_t::splitShare, 0, 1},
    {"trafficClass", &ncclConfig_t::trafficClass},
    {"collnetEnable", &ncclConfig_t::collnetEnable, 0, 1},
    {"CTAPolicy", &ncclConfig_t::CTAPolicy, NCCL_CTA_POLICY_DEFAULT},
    {"shrinkShare", &ncclConfig_t::shrinkShare, 0, 1},
    {"nvlsCTAs", &ncclConfig_t::nvlsCTAs},
    {"nChannelsPerNetPeer", &ncclConfig_t::nChannelsPerNetPeer},
    {"nvlinkCentricSched", &ncclConfig_t::nvlinkCentricSched, 0, 1},
};

/// A struct of this version with what `given`, which may be shorter, sets.
Result<ncclConfig_t> complete(const ncclConfig_t& given) {
  ncclConfig_t whole = NCCL_CONFIG_INITIALIZER;
  if (given.magic != kMagic || given.size < offsetof(ncclConfig_t, blocking)) {
    return Status::invalidArgument(
        "config was not made by NCCL_CONFIG_INITIALIZER: its magic is {:#x}, not {:#x}, its size "
        "{}",
        given.magic, kMagic, given.size);
  }
  std::memcpy(&whole, &given, std::min(given.size, sizeof whole));
  return whole;
}

/// Rondo's names are printable and without spaces, up to 64 characters.
std::string fitName(const char* name) {
  constexpr std::size_t kMostCharacters = 64;
  std::string fitted(std::string_view(name).substr(0, kMostCharacters));
  std::ranges::replace_if(
      fitted, [](char c) { return c <= ' ' || c > '~'; }, '_');
  return fitted;
}

void logIgnored(const ncclConfig_t& config) {
  std::string names;
  for (const Field& field : kFields) {
    const bool heeded = field.member == &ncclConfig_t::blocking;
    if (!heeded && config.*field.member != NCCL_CONFIG_UNDEF_INT)
      names += fmt::format(" {}", field.name);
  }
  if (config.netName != nullptr) names += " netName";
  if (!names.empty()) RONDO_LOG(kInfo, kConfig, "of ncclConfig_t Rondo does not heed{}", names);
}

}  // namespace

rondoConfig_t CommWishes::toRondo() const {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  if (!name.empty()) config.name = name.c_str();
  if (device) config.device = *device;
  if (blocking) config.blocking = *blocking ? 1 : 0;
  return config;
}

Result<CommWishes> readConfig(const ncclConfig_t* config) {
  if (config == nullptr) return CommWishes{};
  const Result<ncclConfig_t> whole = complete(*config);
  RONDO_RETURN_IF_ERROR(whole.status());
  for (const Field& field : kFields) {
    const int value = (*whole).*field.member;
    if (value != NCCL_CONFIG_UNDEF_INT && (value < field.least || value > field.most)) {
      return Status::invalidArgument("config field {} is {}; pass {} to {}, or leave it undefined",
                                     field.name, value, field.least, field.most);
    }
  }
  logIgnored(*whole);
  CommWishes wishes;
  if (whole->commName != nullptr) wishes.name = fitName(whole->commName);
  if (whole->blocking != NCCL_CONFIG_UNDEF_INT) wishes.blocking = whole->blocking != 0;
  return wishes;
}

}  // namespace rondo::nccl
