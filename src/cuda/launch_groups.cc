#include "src/cuda/launch_groups.h"

#include <map>
#include <utility>

#include "src/bootstrap/roster.h"

namespace rondo::cuda {

Result<LaunchGroups> makeLaunchGroups(const Driver& driver, std::span<const int> ordinals) {
  std::map<int, std::vector<int>> ranksOf;
  std::map<int, std::shared_ptr<const Device>> devices;
  for (std::size_t rank = 0; rank < ordinals.size(); ++rank) {
    const int ordinal = ordinals[rank];
    ranksOf[ordinal].push_back(static_cast<int>(rank));
    std::shared_ptr<const Device>& device = devices[ordinal];
    if (device != nullptr) continue;
    Result<std::shared_ptr<const Device>> opened = Device::open(driver, ordinal);
    if (!opened.ok()) return std::move(opened).status().withContext(fmt::format("rank {}", rank));
    device = *std::move(opened);
  }
  LaunchGroups groups(ordinals.size());
  for (auto& [ordinal, ranks] : ranksOf) {
    Result<std::unique_ptr<SharedLaunch>> made = SharedLaunch::make(devices[ordinal], ranks);
    RONDO_RETURN_IF_ERROR(made.status());
    const std::shared_ptr<SharedLaunch> launches = *std::move(made);
    for (const int rank : ranks)
      groups[static_cast<std::size_t>(rank)] = launches;
  }
  return groups;
}

std::string describeLaunchGroups(const LaunchGroups& groups) {
  std::string text;
  for (std::size_t rank = 0; rank < groups.size(); ++rank) {
    const SharedLaunch& launches = *groups[rank];
    if (launches.ranks().front() != static_cast<int>(rank)) continue;
    text += fmt::format("{}ranks {} on {}", text.empty() ? "" : ", ", listRanks(launches.ranks()),
                        launches.device()->name());
  }
  return text;
}

}  // namespace rondo::cuda
