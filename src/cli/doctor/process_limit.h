// Limits that the system sets a process, as `ulimit` shows them.
#pragma once

#include <cstddef>
#include <optional>

#include <sys/resource.h>

namespace rondo::doctor {

/// What this process may have now, e.g. of RLIMIT_NOFILE; nothing if there is no limit.
inline std::optional<std::size_t> processLimit(__rlimit_resource_t resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<std::size_t>(limit.rlim_cur);
}

/// Up to where this process may raise it by itself; nothing if there is no limit.
inline std::optional<std::size_t> processLimitMost(__rlimit_resource_t resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_max == RLIM_INFINITY) return std::nullopt;
  return static_cast<std::size_t>(limit.rlim_max);
}

}  // namespace rondo::doctor
