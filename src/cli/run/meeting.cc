#include "src/cli/run/meeting.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/bootstrap/random_bytes.h"
#include "src/net/errno_text.h"

namespace rondo::run {

namespace {

/// Below the ports that Linux gives to outgoing connections, in blocks so that rank 0 can step over
/// ports which others have.
constexpr int kFirstPort = 10000;
constexpr int kBlockPorts = 16;
constexpr int kBlocks = 1250;

Status writeSecret(int file) {
  std::array<std::byte, 32> random{};
  RONDO_RETURN_IF_ERROR(fillRandom(random));
  std::string text;
  for (const std::byte byte : random)
    text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  const bool written = ::fchmod(file, S_IRUSR | S_IWUSR) == 0 &&
                       ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  ::explicit_bzero(text.data(), text.size());
  ::explicit_bzero(random.data(), random.size());
  if (written) return {};
  return Status::systemError("cannot write the ranks' secret to memory: {}", errnoText(error));
}

}  // namespace

Result<Meeting> makeMeeting() {
  Meeting meeting;
  meeting.secret = FileDescriptor(::memfd_create("rondo-secret", MFD_CLOEXEC));
  if (!meeting.secret.valid()) {
    const int error = errno;
    return Status::systemError("cannot make memory for the ranks' secret: {}", errnoText(error));
  }
  RONDO_RETURN_IF_ERROR(writeSecret(meeting.secret.get()));
  std::uint32_t random = 0;
  RONDO_RETURN_IF_ERROR(fillRandom(std::as_writable_bytes(std::span(&random, 1))));
  const int first = kFirstPort + static_cast<int>(random % kBlocks) * kBlockPorts;
  meeting.root = fmt::format("127.0.0.1:{}-{}", first, first + kBlockPorts - 1);
  // By this process's number: it works through wrappers that close what they inherit.
  meeting.secretFile = fmt::format("/proc/{}/fd/{}", ::getpid(), meeting.secret.get());
  return meeting;
}

}  // namespace rondo::run
