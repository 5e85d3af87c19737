#include "src/cli/machine.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>

namespace rondo::cli {

namespace {

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

std::optional<std::size_t> readNumber(const std::string& path) {
  std::ifstream file(path);
  std::size_t number = 0;
  if (file >> number) return number;
  return std::nullopt;  // missing, or "max"
}

/// What /proc/meminfo calls available.
std::size_t systemAvailableBytes() {
  std::ifstream file("/proc/meminfo");
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string key;
    std::size_t kib = 0;
    if (words >> key >> kib && key == "MemAvailable:") return kib * 1024;
  }
  return kUnlimited;
}

/// What is left of one control group's limit; page cache counts as used, so this errs on the low
/// side by what the kernel could reclaim.
std::size_t leftInGroup(const std::string& folder) {
  const auto limit = readNumber(folder + "/memory.max");
  const auto used = readNumber(folder + "/memory.current");
  if (!limit || !used) return kUnlimited;
  return *limit - std::min(*limit, *used);
}

/// The tightest limit from this process's control group (version 2) up to the root.
std::size_t groupAvailableBytes() {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  std::string path;
  while (std::getline(file, line)) {
    if (line.starts_with("0::")) path = line.substr(3);
  }
  std::size_t least = leftInGroup("/sys/fs/cgroup");
  while (path.size() > 1) {
    least = std::min(least, leftInGroup("/sys/fs/cgroup" + path));
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
  return least;
}

}  // namespace

std::string processorModel() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

std::size_t availableMemoryBytes() {
  return std::min(systemAvailableBytes(), groupAvailableBytes());
}

}  // namespace rondo::cli
