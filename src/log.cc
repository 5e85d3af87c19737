#include "src/log.h"

#include <array>
#include <climits>
#include <cstdio>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include <pthread.h>
#include <unistd.h>

#define SPDLOG_HEADER_ONLY
#define SPDLOG_FMT_EXTERNAL
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "kernels/memory_order.h"

namespace rondo {

namespace {

constexpr std::array<std::string_view, 5> kLevelNames = {"error", "warn", "info", "debug", "trace"};

constexpr std::array<spdlog::level::level_enum, 5> kSpdlogLevels = {
    spdlog::level::err, spdlog::level::warn, spdlog::level::info, spdlog::level::debug,
    spdlog::level::trace};

constexpr std::array<std::string_view, 6> kSubsystemNames = {"api",     "config",   "communicator",
                                                             "planner", "executor", "transport"};

spdlog::level::level_enum toSpdlog(LogLevel level) {
  return kSpdlogLevels[static_cast<std::size_t>(level)];
}

std::string hostName() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

/// The process's log: one sink, and what was said once.
class Logger {
 public:
  static Logger& instance() {
    // Never destroyed: other threads and destructors may log until the very end of the process.
    static Logger* const logger = new Logger;
    return *logger;
  }

  bool enabled(LogLevel level) const noexcept {
    return static_cast<std::uint64_t>(level) <= host::observeCounter(level_);
  }

  Status configure(const LogSettings& settings);

  bool firstOf(std::string_view key) {
    const std::lock_guard lock(mutex_);
    return said_.emplace(key).second;
  }

  void write(LogLevel level, std::string_view text) noexcept {
    const std::lock_guard lock(mutex_);
    logger_->log(toSpdlog(level), "{}", text);
  }

 private:
  Logger() {
    use(std::make_shared<spdlog::sinks::stderr_sink_st>());
    // A child must not inherit a lock that some thread of its parent held while logging.
    ::pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                     [] { instance().mutex_.unlock(); });
  }

  /// Caller holds mutex_, or is the constructor.
  void use(std::shared_ptr<spdlog::sinks::sink> sink) {
    logger_ = std::make_unique<spdlog::logger>("rondo", std::move(sink));
    logger_->set_pattern(fmt::format("%Y-%m-%d %H:%M:%S.%e {} %P rondo %v", hostName()));
    logger_->set_level(spdlog::level::trace);
    logger_->flush_on(spdlog::level::trace);
  }

  /// The LogLevel; mutable: observeCounter() wants so.
  mutable std::uint64_t level_ = static_cast<std::uint64_t>(LogSettings{}.level);
  std::mutex mutex_;  ///< guards the rest, and writes to level_
  std::unique_ptr<spdlog::logger> logger_;
  std::string file_;  ///< expanded; empty: stderr
  std::set<std::string, std::less<>> said_;
};

Status Logger::configure(const LogSettings& settings) {
  Result<std::string> file = expandLogFile(settings.file, hostName(), ::getpid());
  RONDO_RETURN_IF_ERROR(file.status());
  const std::lock_guard lock(mutex_);
  if (*file != file_) {
    if (file->empty()) {
      use(std::make_shared<spdlog::sinks::stderr_sink_st>());
    } else {
      try {
        use(std::make_shared<spdlog::sinks::basic_file_sink_st>(*file));
      } catch (const spdlog::spdlog_ex& failure) {
        return Status::systemError("log file {} cannot be opened: {}", *file, failure.what());
      }
    }
    file_ = *file;
  }
  host::postCounter(level_, static_cast<std::uint64_t>(settings.level));
  return {};
}

}  // namespace

std::string_view logLevelName(LogLevel level) {
  return kLevelNames[static_cast<std::size_t>(level)];
}

std::optional<LogLevel> findLogLevel(std::string_view name) {
  for (std::size_t level = 0; level < kLevelNames.size(); ++level) {
    if (kLevelNames[level] == name) return static_cast<LogLevel>(level);
  }
  return std::nullopt;
}

Status configureLog(const LogSettings& settings) {
  return Logger::instance().configure(settings);
}

Result<std::string> expandLogFile(std::string_view pattern, std::string_view host, long process) {
  std::string path;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '%') {
      path += pattern[at];
      continue;
    }
    const char what = ++at < pattern.size() ? pattern[at] : '\0';
    if (what == 'h') {
      path += host;
    } else if (what == 'p') {
      path += std::to_string(process);
    } else if (what == '%') {
      path += '%';
    } else {
      return Status::invalidArgument(
          "log file \"{}\": after % only h (host), p (process id) and % are known", pattern);
    }
  }
  return path;
}

bool firstLogOf(std::string_view key) {
  return Logger::instance().firstOf(key);
}

namespace detail {

bool logEnabled(LogLevel level) noexcept {
  return Logger::instance().enabled(level);
}

void writeLog(LogSource source,
              const LogContext& context,
              fmt::string_view format,
              fmt::format_args args) noexcept {
  try {
    std::string text = fmt::format("{} {} ", logLevelName(source.level),
                                   kSubsystemNames[static_cast<std::size_t>(source.subsystem)]);
    if (!context.communicator.empty()) text += fmt::format("{} ", context.communicator);
    if (context.rank >= 0) text += fmt::format("rank {} ", context.rank);
    text += fmt::vformat(format, args);
    Logger::instance().write(source.level, text);
  } catch (...) {
    std::fputs("rondo: a log message was lost\n", stderr);
  }
}

}  // namespace detail

}  // namespace rondo
