// PMI-1's wire protocol, as MPICH's Hydra speaks it: lines of "cmd=NAME key=value ...", one answer
// per request (Balaji et al., "PMI: A Scalable Parallel Process-Management Interface for
// Extreme-Scale Systems", EuroMPI 2010).
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/bootstrap/launcher_store.h"
#include "src/net/errno_text.h"
#include "src/net/socket.h"

namespace rondo {

namespace {

/// No answer to what is asked here is longer.
constexpr std::size_t kMaxAnswerBytes = 4096;

/// The value of `name` in a line; empty: it is not there.
std::string fieldOf(std::string_view line, std::string_view name) {
  while (!line.empty()) {
    const std::string_view field = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(field.size() + 1, line.size()));
    const std::size_t equals = field.find('=');
    if (equals != std::string_view::npos && field.substr(0, equals) == name) {
      return std::string(field.substr(equals + 1));
    }
  }
  return {};
}

/// Sends all of `line`. Not by write(): a launcher that is gone must not raise SIGPIPE.
/// @return 0, or an errno
int sendLine(int descriptor, const std::string& line) {
  const std::string text = line + '\n';
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t sent = ::send(descriptor, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (sent > 0) {
      done += static_cast<std::size_t>(sent);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

/// Hydra kills all ranks when one that has spoken to it ends without "finalize", and closes the
/// connection on "finalize". So it is said once, when this process exits: not by MPI, if that has
/// said it, or has the connection closed, before. A global object, since a process has one such
/// connection and one exit.
class Farewell {
 public:
  static Farewell& ofThisProcess() {
    static Farewell instance;
    return instance;
  }

  Farewell(const Farewell&) = delete;
  Farewell& operator=(const Farewell&) = delete;
  Farewell(Farewell&&) = delete;
  Farewell& operator=(Farewell&&) = delete;

  /// Says farewell on `descriptor` at exit.
  void owe(int descriptor) {
    process_ = ::getpid();
    descriptor_ = descriptor;
    socket_ = socketOf(descriptor);
  }

 private:
  Farewell() = default;

  /// A child that was forked owes nothing, and the number may be another file's by now.
  ~Farewell() {
    if (process_ != ::getpid() || socket_ == 0 || socketOf(descriptor_) != socket_) return;
    if (sendLine(descriptor_, "cmd=finalize") != 0) return;
    constexpr std::chrono::milliseconds kPatience{1000};
    (void)waitUntilReady(descriptor_, POLLIN, Deadline::within(kPatience));
  }

  /// What is open under that number; 0: nothing.
  static ino_t socketOf(int descriptor) {
    struct stat facts {};

    return ::fstat(descriptor, &facts) == 0 ? facts.st_ino : 0;
  }

  pid_t process_ = 0;
  int descriptor_ = -1;
  ino_t socket_ = 0;
};

class Pmi1Store final : public LauncherStore {
 public:
  Pmi1Store(int descriptor, int rank) : descriptor_(descriptor), rank_(rank) {}

  Result<std::string> spread(const std::string& key,
                             const std::string& text,
                             Deadline deadline) override {
    const Result<std::string> hello =
        ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init", deadline);
    RONDO_RETURN_IF_ERROR(hello.status());
    Farewell::ofThisProcess().owe(descriptor_);
    const Result<std::string> space = ask("cmd=get_my_kvsname", "my_kvsname", deadline);
    RONDO_RETURN_IF_ERROR(space.status());
    const std::string entry = fmt::format("kvsname={} key={}", fieldOf(*space, "kvsname"), key);
    if (rank_ == 0) {
      const std::string put = fmt::format("cmd=put {} value={}", entry, text);
      RONDO_RETURN_IF_ERROR(ask(put, "put_result", deadline).status());
    }
    RONDO_RETURN_IF_ERROR(ask("cmd=barrier_in", "barrier_out", deadline).status());
    const Result<std::string> got = ask("cmd=get " + entry, "get_result", deadline);
    RONDO_RETURN_IF_ERROR(got.status());
    return fieldOf(*got, "value");
  }

 private:
  /// Requests may hold a secret, so errors name the answer that was due instead.
  Result<std::string> ask(const std::string& request,
                          std::string_view answerName,
                          Deadline deadline) const {
    if (const int error = sendLine(descriptor_, request); error != 0) {
      return Status::systemError("asking for {} over PMI_FD {}: {}", answerName, descriptor_,
                                 errnoText(error));
    }
    Result<std::string> answer = readLine(answerName, deadline);
    RONDO_RETURN_IF_ERROR(answer.status());
    const std::string code = fieldOf(*answer, "rc");
    if (fieldOf(*answer, "cmd") == answerName && (code.empty() || code == "0")) return answer;
    return Status::systemError("the launcher's PMI connection gave {} with code {} instead of {}",
                               fieldOf(*answer, "cmd"), code, answerName);
  }

  /// Byte by byte, so that nothing is taken that belongs to an MPI library.
  Result<std::string> readLine(std::string_view answerName, Deadline deadline) const {
    std::string line;
    while (line.size() < kMaxAnswerBytes) {
      const Result<bool> ready = waitUntilReady(descriptor_, POLLIN, deadline);
      RONDO_RETURN_IF_ERROR(ready.status());
      if (!*ready) {
        return Status::timeout(
            "the launcher has not given {} over PMI_FD {}; do all ranks make their communicator?",
            answerName, descriptor_);
      }
      char letter = 0;
      const ssize_t got = ::read(descriptor_, &letter, 1);
      const int error = errno;
      if (got == 1 && letter == '\n') return line;
      if (got == 1) {
        line += letter;
      } else if (got == 0 || error != EINTR) {
        return Status::systemError("waiting for {} over PMI_FD {}: {}", answerName, descriptor_,
                                   got == 0 ? "the launcher closed it" : errnoText(error));
      }
    }
    return Status::systemError("the answer {} over PMI_FD {} has no end", answerName, descriptor_);
  }

  int descriptor_;
  int rank_;
};

}  // namespace

std::unique_ptr<LauncherStore> openPmi1Store(int descriptor, int rank) {
  return std::make_unique<Pmi1Store>(descriptor, rank);
}

}  // namespace rondo
