// What this process's control groups leave it, of versions 1 and 2.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

namespace rondo {

/// The tightest of the limits from this process's groups up to their roots. Empty: no limit.
struct GroupLimits {
  std::optional<double> processors;        ///< how many may be busy at a time, on average
  std::optional<std::size_t> memoryBytes;  ///< the limit itself
  /// What is left of memory; page cache counts as used, so this errs on the low side by what the
  /// kernel could reclaim.
  std::optional<std::size_t> memoryLeftBytes;
  std::optional<std::size_t> processesLeft;  ///< threads, too
};

/// What cannot be read is no limit.
/// @param root "/", or a folder with copies of proc/self/cgroup and sys/fs/cgroup
GroupLimits readGroupLimits(const std::filesystem::path& root = "/");

}  // namespace rondo
