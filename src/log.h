// What the library says while it runs. Silent by default unless something is wrong; info is
// O(communicators), debug O(connections), trace may be O(steps). Messages are lower case without a
// full stop, "key value" for data: RONDO_LOG(kInfo, kPlanner, "all_reduce bytes {} uses {}", bytes,
// name).
//
// The logger is this library's one process-wide mutable object besides the handle table
// (src/handle_table.h): a process has one stderr, and lines of several communicators must not mix.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "src/format.h"
#include "src/status.h"

namespace rondo {

/// From what is always said to what is said at every step.
enum class LogLevel : std::uint8_t { kError, kWarn, kInfo, kDebug, kTrace };

/// Which part of the library speaks.
enum class LogSubsystem : std::uint8_t {
  kApi,
  kConfig,
  kCommunicator,
  kPlanner,
  kExecutor,
  kTransport,
};

/// "warn", ...
std::string_view logLevelName(LogLevel level);

/// The level of that name.
std::optional<LogLevel> findLogLevel(std::string_view name);

/// Whose message it is; put before the text of a message when known.
struct LogContext {
  int rank = -1;                    ///< -1: none
  std::string_view communicator{};  ///< empty: none
};

/// What the log does, from Config.
struct LogSettings {
  LogLevel level = LogLevel::kWarn;
  /// Path of the file to append to; %h is the host name, %p the process id, %% a percent sign.
  /// Empty: stderr.
  std::string file;
};

/// Applies `settings` to the process's log. If it fails, the log stays as it was.
/// @threads  any.
/// @errors   InvalidArgument (pattern), SystemError (the file cannot be opened).
Status configureLog(const LogSettings& settings);

/// The file name that `pattern` stands for; see LogSettings::file.
/// @errors   InvalidArgument.
Result<std::string> expandLogFile(std::string_view pattern, std::string_view host, long process);

/// True for the first caller in this process that asks with this key.
/// @threads  any.
bool firstLogOf(std::string_view key);

namespace detail {

#ifdef NDEBUG
inline constexpr bool kTraceLog = false;
#else
inline constexpr bool kTraceLog = true;
#endif

bool logEnabled(LogLevel level) noexcept;

struct LogSource {
  LogLevel level;
  LogSubsystem subsystem;
};

[[gnu::cold]] [[gnu::noinline]] void writeLog(LogSource source,
                                              const LogContext& context,
                                              fmt::string_view format,
                                              fmt::format_args args) noexcept;

template <class... Args>
void log(LogSource source,
         const LogContext& context,
         fmt::format_string<Args...> format,
         Args&&... args) {
  writeLog(source, context, format, fmt::make_format_args(args...));
}

template <class... Args>
void log(LogSource source, fmt::format_string<Args...> format, Args&&... args) {
  writeLog(source, LogContext{}, format, fmt::make_format_args(args...));
}

}  // namespace detail

}  // namespace rondo

/// Logs a message: RONDO_LOG(kWarn, kTransport, [LogContext,] "format", arguments...). Arguments
/// are evaluated only if the level is on; trace compiles out where NDEBUG is defined.
#define RONDO_LOG(level, subsystem, ...)                                                   \
  do {                                                                                     \
    if constexpr (::rondo::LogLevel::level != ::rondo::LogLevel::kTrace ||                 \
                  ::rondo::detail::kTraceLog) {                                            \
      if (::rondo::detail::logEnabled(::rondo::LogLevel::level)) [[unlikely]] {            \
        ::rondo::detail::log({::rondo::LogLevel::level, ::rondo::LogSubsystem::subsystem}, \
                             __VA_ARGS__);                                                 \
      }                                                                                    \
    }                                                                                      \
  } while (false)
