#include "src/control_group.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace rondo {

namespace {

using Path = std::filesystem::path;

/// Version 1 writes "no limit" as the largest number of pages that it can count.
constexpr std::size_t kNoLimitFrom = std::size_t{1} << 60;

std::optional<std::size_t> readNumber(const Path& file) {
  std::ifstream stream(file);
  std::size_t number = 0;
  if (stream >> number && number < kNoLimitFrom) return number;
  return std::nullopt;  // missing, "max", or -1
}

template <class T>
void tighten(std::optional<T>& limit, std::optional<T> other) {
  if (other) limit = limit ? std::min(*limit, *other) : *other;
}

/// What is left of a limit; nothing if there is none.
std::optional<std::size_t> leftOf(std::optional<std::size_t> limit,
                                  std::optional<std::size_t> used) {
  if (!limit || !used) return std::nullopt;
  return *limit - std::min(*limit, *used);
}

/// Time that may be used in each period, as a number of processors.
std::optional<double> shareOf(std::optional<std::size_t> quota, std::optional<std::size_t> period) {
  if (!quota || !period || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

/// "150000 100000" or "max 100000".
std::optional<double> readShare(const Path& file) {
  std::ifstream stream(file);
  std::size_t quota = 0;
  std::size_t period = 0;
  if (stream >> quota >> period) return shareOf(quota, period);
  return std::nullopt;
}

/// One folder holds all controllers in version 2, and its own in version 1.
void addLimitsOf(const Path& group, GroupLimits& limits) {
  for (const auto& [limit, used] : {std::pair("memory.max", "memory.current"),
                                    std::pair("memory.limit_in_bytes", "memory.usage_in_bytes")}) {
    const std::optional<std::size_t> bytes = readNumber(group / limit);
    tighten(limits.memoryBytes, bytes);
    tighten(limits.memoryLeftBytes, leftOf(bytes, readNumber(group / used)));
  }
  tighten(limits.processesLeft,
          leftOf(readNumber(group / "pids.max"), readNumber(group / "pids.current")));
  tighten(limits.processors, readShare(group / "cpu.max"));
  tighten(limits.processors,
          shareOf(readNumber(group / "cpu.cfs_quota_us"), readNumber(group / "cpu.cfs_period_us")));
}

/// Where the hierarchy of a line of /proc/self/cgroup, "4:cpu,cpuacct:/path" or "0::/path", may be
/// mounted.
std::vector<Path> mountsOf(std::string_view controllers, const Path& groups) {
  if (controllers.empty()) return {groups, groups / "unified"};
  std::vector<Path> mounts = {groups / controllers};
  for (const std::string_view one : {"memory", "cpu", "pids"}) {
    if (controllers != one && controllers.find(one) != std::string_view::npos)
      mounts.push_back(groups / one);
  }
  return mounts;
}

}  // namespace

GroupLimits readGroupLimits(const Path& root) {
  GroupLimits limits;
  std::ifstream file(root / "proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view text(line);
    const Path own = Path(text.substr(second + 1)).relative_path();
    const std::string_view controllers = text.substr(first + 1, second - first - 1);
    for (const Path& mount : mountsOf(controllers, root / "sys/fs/cgroup")) {
      // In a container the folder may be mounted as the root, and the path lead nowhere.
      addLimitsOf(mount, limits);
      for (Path group = own; !group.empty(); group = group.parent_path())
        addLimitsOf(mount / group, limits);
    }
  }
  return limits;
}

}  // namespace rondo
