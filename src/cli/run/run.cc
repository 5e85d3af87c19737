#include "src/cli/run/run.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/cli/run/line_relay.h"
#include "src/cli/run/meeting.h"
#include "src/cli/run/rank_process.h"
#include "src/net/deadline.h"
#include "src/net/errno_text.h"
#include "src/topology/pinning.h"

namespace rondo::run {

namespace {

constexpr int kSignalExit = 128;
/// For output that is still in the pipes when all ranks have ended; longer only if a process that
/// they left behind keeps writing.
constexpr std::chrono::milliseconds kLastOutput{500};

struct CloseFile {
  void operator()(std::FILE* file) const { (void)std::fclose(file); }
};

using File = std::unique_ptr<std::FILE, CloseFile>;

struct Rank {
  pid_t process = 0;
  File copy;  ///< of its output; null: none
  LineRelay output;
  LineRelay errors;
  std::optional<int> status;  ///< as waitpid() gave it
};

/// SIGCHLD and what asks this process to end, as a file descriptor. Blocked until this goes.
class Signals {
 public:
  Signals() {
    sigset_t wanted;
    ::sigemptyset(&wanted);
    for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP})
      ::sigaddset(&wanted, signal);
    (void)::pthread_sigmask(SIG_BLOCK, &wanted, &before_);
    source_ = FileDescriptor(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  Signals(Signals&&) = delete;
  Signals& operator=(Signals&&) = delete;

  ~Signals() { (void)::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  int source() const { return source_.get(); }

  /// The next that has come; 0: none.
  int take() const {
    signalfd_siginfo info{};
    return ::read(source_.get(), &info, sizeof info) == sizeof info
               ? static_cast<int>(info.ssi_signo)
               : 0;
  }

 private:
  sigset_t before_{};
  FileDescriptor source_;
};

int exitCodeOf(int status) {
  return WIFSIGNALED(status) ? kSignalExit + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string endText(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("exited with {}", WEXITSTATUS(status));
  return fmt::format("was killed by signal {} ({})", WTERMSIG(status),
                     ::sigdescr_np(WTERMSIG(status)));
}

class RankGroupRun {
 public:
  explicit RankGroupRun(const RunOptions& options) : options_(options) {}

  RankGroupRun(const RankGroupRun&) = delete;
  RankGroupRun& operator=(const RankGroupRun&) = delete;
  RankGroupRun(RankGroupRun&&) = delete;
  RankGroupRun& operator=(RankGroupRun&&) = delete;

  /// Nothing is left behind, whatever went wrong.
  ~RankGroupRun() {
    signalAll(SIGKILL);
    for (const Rank& rank : ranks_) {
      if (!rank.status) (void)::waitpid(rank.process, nullptr, 0);
    }
  }

  Status start() {
    Result<Meeting> meeting = makeMeeting();
    RONDO_RETURN_IF_ERROR(meeting.status());
    meeting_ = *std::move(meeting);
    bindRanks();
    for (int rank = 0; rank < options_.ranks; ++rank)
      RONDO_RETURN_IF_ERROR(startOne(rank));
    return {};
  }

  int serve() {
    while (anyRuns()) {
      waitForEvents(killAt_);
      handleSignals();
      reap();
      if (killAt_.passed()) {
        signalAll(SIGKILL);
        killAt_ = Deadline{};
      }
    }
    // What the ranks started and left goes with them.
    for (const Rank& rank : ranks_)
      (void)::kill(-rank.process, SIGKILL);
    drain();
    if (!firstFailed_) return 0;
    const int status = *ranks_[*firstFailed_].status;
    (void)std::fflush(stdout);
    fmt::print(stderr, "rondo run: rank {} of {} {}\n", *firstFailed_, options_.ranks,
               endText(status));
    return exitCodeOf(status);
  }

 private:
  /// Decides what each rank may run on.
  void bindRanks() {
    processors_.resize(static_cast<std::size_t>(options_.ranks));
    if (options_.binding == Binding::kNone) return;
    const Topology topology = findTopology();
    const std::vector<ProcessorMask> shares = pinRanks(localRanks(topology, options_.ranks));
    for (std::size_t rank = 0; rank < shares.size(); ++rank) {
      processors_[rank] = boundTo(topology, shares[rank], options_.binding);
      if (!options_.verbose) continue;
      fmt::print(stderr, "rondo run: rank {} runs on processors {}\n", rank,
                 processors_[rank].text());
    }
  }

  std::map<std::string, std::string> variablesOf(int rank) const {
    return {{"RONDO_RANK", std::to_string(rank)},
            {"RONDO_RANKS", std::to_string(options_.ranks)},
            {"RONDO_ROOT", meeting_.root},
            {"RONDO_SECRET_FILE", meeting_.secretFile},
            {"RONDO_SECRET", ""}};
  }

  Result<File> openCopy(int rank) const {
    if (options_.outputFolder.empty()) return File{};
    std::error_code ignored;  // what is wrong with the folder shows when the file is opened
    std::filesystem::create_directories(options_.outputFolder, ignored);
    const std::string path = fmt::format("{}/rank-{}.log", options_.outputFolder, rank);
    File file(std::fopen(path.c_str(), "we"));
    if (file != nullptr) return file;
    const int error = errno;
    return Status::invalidArgument("--output: cannot write {}: {}", path, errnoText(error));
  }

  Status startOne(int rank) {
    Result<File> copy = openCopy(rank);
    RONDO_RETURN_IF_ERROR(copy.status());
    // From a terminal nobody can read in another group than the one in front.
    const bool hasInput = rank == 0 && ::isatty(STDIN_FILENO) == 0;
    Result<RankProcess> started = startRank(
        {options_.words, variablesOf(rank), processors_[static_cast<std::size_t>(rank)], hasInput});
    RONDO_RETURN_IF_ERROR(started.status());
    const std::string prefix = options_.prefix ? fmt::format("[{}] ", rank) : std::string();
    std::FILE* const copyFile = copy->get();
    ranks_.push_back({started->process, *std::move(copy),
                      LineRelay(std::move(started->output), stdout, prefix, copyFile),
                      LineRelay(std::move(started->errors), stderr, prefix, copyFile),
                      std::nullopt});
    return {};
  }

  bool anyRuns() const {
    return std::ranges::any_of(ranks_, [](const Rank& rank) { return !rank.status; });
  }

  void signalAll(int signal) const {
    for (const Rank& rank : ranks_) {
      if (!rank.status) (void)::kill(-rank.process, signal);
    }
  }

  /// Passes output on, and returns when there was some, or a signal, or at the deadline.
  void waitForEvents(Deadline deadline) {
    std::vector<pollfd> events = {{signals_.source(), POLLIN, 0}};
    for (const Rank& rank : ranks_) {
      events.push_back({rank.output.source(), POLLIN, 0});
      events.push_back({rank.errors.source(), POLLIN, 0});
    }
    if (::poll(events.data(), events.size(), deadline.pollTimeout()) <= 0) return;
    for (std::size_t at = 0; at < ranks_.size(); ++at) {
      if (events[1 + 2 * at].revents != 0) ranks_[at].output.relay();
      if (events[2 + 2 * at].revents != 0) ranks_[at].errors.relay();
    }
  }

  void handleSignals() {
    for (int signal = signals_.take(); signal != 0; signal = signals_.take()) {
      if (signal == SIGCHLD) continue;
      // Whoever asks twice does not want to wait.
      signalAll(askedToEnd_ ? SIGKILL : signal);
      askedToEnd_ = true;
      endWithin(options_.grace);
    }
  }

  void endWithin(std::chrono::milliseconds grace) {
    if (!killAt_.never()) return;
    killAt_ = Deadline(Deadline::Clock::now() + grace);
  }

  void reap() {
    for (std::size_t at = 0; at < ranks_.size(); ++at) {
      Rank& rank = ranks_[at];
      int status = 0;
      if (rank.status || ::waitpid(rank.process, &status, WNOHANG) != rank.process) continue;
      rank.status = status;
      if (exitCodeOf(status) == 0 || firstFailed_) continue;
      firstFailed_ = at;
      signalAll(SIGTERM);
      endWithin(options_.grace);
    }
  }

  /// What the ranks wrote last.
  void drain() {
    const auto isOpen = [](const Rank& rank) {
      return rank.output.source() >= 0 || rank.errors.source() >= 0;
    };
    const Deadline deadline = Deadline::within(kLastOutput);
    while (std::ranges::any_of(ranks_, isOpen) && !deadline.passed())
      waitForEvents(deadline);
  }

  const RunOptions& options_;
  Signals signals_;
  Meeting meeting_;
  std::vector<ProcessorMask> processors_;  // by rank; empty: not bound
  std::vector<Rank> ranks_;
  std::optional<std::size_t> firstFailed_;
  Deadline killAt_;  ///< never, unless the ranks are to end
  bool askedToEnd_ = false;
};

}  // namespace

Result<int> runRanks(const RunOptions& options) {
  RankGroupRun run(options);
  RONDO_RETURN_IF_ERROR(run.start());
  return run.serve();
}

}  // namespace rondo::run
