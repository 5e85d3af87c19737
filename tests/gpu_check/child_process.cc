#include "tests/gpu_check/child_process.h"

#include <array>
#include <csignal>
#include <filesystem>
#include <utility>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rondo::gpucheck {

namespace {

class Child {
 public:
  static Result<Child> start(const run::RankProgram& program) {
    Result<run::RankProcess> process = run::startRank(program);
    RONDO_RETURN_IF_ERROR(process.status());
    return Child(*std::move(process));
  }

  Child(Child&& other) noexcept : process_(std::move(other.process_)), end_(std::move(other.end_)) {
    other.process_.process = 0;
  }

  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child& operator=(Child&&) = delete;

  /// Nothing is left behind, whatever went wrong.
  ~Child() {
    if (process_.process != 0) finish(false);
  }

  /// What to poll; closed ones are negative, which poll() skips.
  std::array<pollfd, 2> sources() const {
    return {pollfd{process_.output.get(), POLLIN, 0}, pollfd{process_.errors.get(), POLLIN, 0}};
  }

  bool silent() const { return !process_.output.valid() && !process_.errors.valid(); }

  void read() {
    readFrom(process_.output);
    readFrom(process_.errors);
  }

  /// Reaps it. @param inTime false: kills it first
  ChildEnd finish(bool inTime) {
    if (!inTime) (void)::kill(-process_.process, SIGKILL);
    int status = 0;
    (void)::waitpid(std::exchange(process_.process, 0), &status, 0);
    end_.inTime = inTime;
    if (WIFEXITED(status)) end_.exitStatus = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) end_.signal = WTERMSIG(status);
    return std::move(end_);
  }

 private:
  explicit Child(run::RankProcess process) : process_(std::move(process)) {}

  void readFrom(FileDescriptor& source) {
    if (!source.valid()) return;
    std::array<char, 4096> some{};
    ssize_t got = 0;
    while ((got = ::read(source.get(), some.data(), some.size())) > 0)
      end_.output.append(some.data(), static_cast<std::size_t>(got));
    if (got == 0) source.reset();
  }

  run::RankProcess process_;
  ChildEnd end_;
};

void readAll(std::vector<Child>& children, Deadline deadline, const std::function<void()>& tick) {
  constexpr std::chrono::milliseconds kBetweenTicks{500};
  for (;;) {
    std::vector<pollfd> sources;
    bool silent = true;
    for (const Child& child : children) {
      for (const pollfd& source : child.sources())
        sources.push_back(source);
      silent = silent && child.silent();
    }
    if (silent || deadline.passed()) return;
    (void)::poll(sources.data(), sources.size(),
                 earlier(deadline, Deadline::within(kBetweenTicks)).pollTimeout());
    if (tick) tick();
    for (Child& child : children)
      child.read();
  }
}

}  // namespace

std::string ChildEnd::text() const {
  if (!inTime) return "did not end in time";
  if (signal != 0) return fmt::format("was killed by signal {}", signal);
  return fmt::format("exited with {}", exitStatus);
}

std::string ChildEnd::lastLine() const {
  const std::size_t end = output.find_last_not_of("\n ");
  if (end == std::string::npos) return "no output";
  const std::size_t before = output.find_last_of('\n', end);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return output.substr(begin, end + 1 - begin);
}

Result<std::vector<ChildEnd>> runProcesses(const std::vector<run::RankProgram>& programs,
                                           Deadline deadline,
                                           const std::function<void()>& tick) {
  std::vector<Child> children;
  for (const run::RankProgram& program : programs) {
    Result<Child> child = Child::start(program);
    RONDO_RETURN_IF_ERROR(child.status());
    children.push_back(*std::move(child));
  }
  readAll(children, deadline, tick);
  std::vector<ChildEnd> ends;
  for (Child& child : children)
    ends.push_back(child.finish(child.silent()));
  return ends;
}

std::string ownPath() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

}  // namespace rondo::gpucheck
