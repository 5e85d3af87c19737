// Invariants: what is false only if this library itself is wrong. Never for a caller's input or for
// anything a peer or the system can cause; those are a Status (src/status.h).
#pragma once

namespace rondo::detail {

/// Writes the condition and its place to stderr and ends the process.
[[noreturn]] [[gnu::cold]] void checkFailed(const char* condition, const char* file, int line);

#ifdef NDEBUG
inline constexpr bool kDebugChecks = false;
#else
inline constexpr bool kDebugChecks = true;
#endif

}  // namespace rondo::detail

/// Ends the process if `condition` is false; in every build.
#define RONDO_CHECK(condition)                         \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::rondo::detail::checkFailed(#condition, __FILE__, __LINE__))

/// RONDO_CHECK for hot paths: compiled, but not evaluated, where NDEBUG is defined.
#define RONDO_DCHECK(condition)                                          \
  do {                                                                   \
    if constexpr (::rondo::detail::kDebugChecks) RONDO_CHECK(condition); \
  } while (false)
