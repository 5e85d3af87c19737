#include "src/cuda/device_team.h"

#include <utility>

#include "src/bootstrap/roster.h"

namespace rondo::cuda {

Result<std::shared_ptr<DeviceTeam>> DeviceTeam::make(const Driver& driver,
                                                     std::span<const int> ordinals,
                                                     SlotShape slots) {
  auto team = std::make_shared<DeviceTeam>();
  std::map<int, std::vector<int>> ranksOf;
  std::map<int, std::shared_ptr<const Device>> opened;
  for (std::size_t rank = 0; rank < ordinals.size(); ++rank) {
    const int ordinal = ordinals[rank];
    std::shared_ptr<const Device>& device = opened[ordinal];
    if (device == nullptr) {
      Result<std::shared_ptr<const Device>> made = Device::open(driver, ordinal);
      if (!made.ok()) return std::move(made).status().withContext(fmt::format("rank {}", rank));
      device = *std::move(made);
    }
    team->devices_.push_back(device);
    ranksOf[ordinal].push_back(static_cast<int>(rank));
  }
  for (auto& [ordinal, ranks] : ranksOf) {
    Result<std::unique_ptr<SharedLaunch>> launches =
        SharedLaunch::make(opened[ordinal], std::move(ranks));
    RONDO_RETURN_IF_ERROR(launches.status());
    team->launches_.emplace(ordinal, *std::move(launches));
  }
  team->links_ = std::make_shared<ProcessLinks>(team->devices_, slots);
  team->prepared_ = std::make_unique<Meeting>(static_cast<int>(ordinals.size()));
  return team;
}

std::string DeviceTeam::describe() const {
  std::string text;
  for (const auto& [ordinal, launches] : launches_) {
    text += fmt::format("{}ranks {} on {}", text.empty() ? "" : ", ", listRanks(launches->ranks()),
                        device(launches->ranks().front())->name());
  }
  return text;
}

}  // namespace rondo::cuda
