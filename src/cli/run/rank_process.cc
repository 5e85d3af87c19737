#include "src/cli/run/rank_process.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/net/errno_text.h"

namespace rondo::run {

namespace {

struct Pipe {
  FileDescriptor reading;
  FileDescriptor writing;
};

Result<Pipe> makePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) == 0) return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  const int error = errno;
  return Status::systemError("cannot make a pipe for a rank: {}", errnoText(error));
}

void setVariables(const std::map<std::string, std::string>& variables) {
  for (const auto& [name, value] : variables) {
    // The one thread of a new process.
    if (value.empty()) {
      (void)::unsetenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
    } else {
      (void)::setenv(name.c_str(), value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    }
  }
}

void closeInput() {
  const FileDescriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  (void)::dup2(nothing.get(), STDIN_FILENO);
}

/// Where it fails the rank's own error output says so, and the rank ends.
void bindTo(const ProcessorMask& processors) {
  if (processors.empty()) return;
  const Status bound = bindThisThread(processors);
  if (bound.ok()) return;
  fmt::print(stderr, "rondo run: {}\n", bound.message());
  ::_exit(EXIT_FAILURE);
}

/// Becomes the program; returns only if that fails.
void become(const RankProgram& program, pid_t parent, int output, int errors) {
  (void)::setpgid(0, 0);
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(EXIT_FAILURE);  // it has ended before the call above
  sigset_t none;
  ::sigemptyset(&none);
  (void)::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  if (!program.hasInput) closeInput();
  (void)::dup2(output, STDOUT_FILENO);
  (void)::dup2(errors, STDERR_FILENO);
  bindTo(program.processors);
  setVariables(program.variables);
  std::vector<char*> words;
  for (const std::string& word : program.words)
    words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  (void)::execvp(words.front(), words.data());
}

/// Waits until the new process runs the program, or says why it cannot.
Status awaitStart(const std::string& name, pid_t process, const FileDescriptor& report) {
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(report.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return {};  // closed by exec
  (void)::waitpid(process, nullptr, 0);
  return Status::invalidArgument("cannot run {}: {}", name, errnoText(error));
}

}  // namespace

Result<RankProcess> startRank(const RankProgram& program) {
  Result<Pipe> output = makePipe();
  RONDO_RETURN_IF_ERROR(output.status());
  Result<Pipe> errors = makePipe();
  RONDO_RETURN_IF_ERROR(errors.status());
  Result<Pipe> report = makePipe();
  RONDO_RETURN_IF_ERROR(report.status());
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process < 0) {
    const int error = errno;
    return Status::systemError("cannot start a process: {}", errnoText(error));
  }
  if (process == 0) {
    become(program, parent, output->writing.get(), errors->writing.get());
    const int error = errno;
    (void)!::write(report->writing.get(), &error, sizeof error);
    ::_exit(EXIT_FAILURE);
  }
  (void)::setpgid(process, process);  // as the child does: whoever is first
  report->writing.reset();
  RONDO_RETURN_IF_ERROR(awaitStart(program.words.front(), process, report->reading));
  for (const int end : {output->reading.get(), errors->reading.get()})
    (void)::fcntl(end, F_SETFL, O_NONBLOCK);
  return RankProcess{process, std::move(output->reading), std::move(errors->reading)};
}

}  // namespace rondo::run
