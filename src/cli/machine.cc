#include "src/cli/machine.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>

#include "src/control_group.h"

namespace rondo::cli {

namespace {

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

/// A line of /proc/meminfo, such as "MemAvailable:", in bytes.
std::optional<std::size_t> memoryInfo(std::string_view wanted) {
  std::ifstream file("/proc/meminfo");
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string key;
    std::size_t kib = 0;
    if (words >> key >> kib && key == wanted) return kib * 1024;
  }
  return std::nullopt;
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

std::size_t totalMemoryBytes() {
  return memoryInfo("MemTotal:").value_or(0);
}

std::size_t availableMemoryBytes() {
  return std::min(memoryInfo("MemAvailable:").value_or(kUnlimited),
                  readGroupLimits().memoryLeftBytes.value_or(kUnlimited));
}

}  // namespace rondo::cli
