#include "src/bootstrap/job_key.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/bootstrap/message_authentication.h"
#include "src/net/errno_text.h"
#include "src/net/file_descriptor.h"

namespace rondo {

namespace {

constexpr std::size_t kMinSecretBytes = 16;
constexpr std::size_t kMaxSecretBytes = 4096;

/// Not a secret: it keeps these keys apart from everything else that is made with the same
/// function.
SecretKey purpose(std::string_view name) {
  std::array<std::byte, SecretKey::kBytes> bytes{};
  std::memcpy(bytes.data(), name.data(), std::min(name.size(), bytes.size()));
  return SecretKey(bytes);
}

Status checkAccess(int file, const std::string& path) {
  struct stat facts {};

  if (::fstat(file, &facts) != 0) {
    const int error = errno;
    return Status::systemError("RONDO_SECRET_FILE {}: {}", path, errnoText(error));
  }
  constexpr unsigned kOthers = S_IRWXG | S_IRWXO;
  if ((facts.st_mode & kOthers) == 0) return {};
  return Status::invalidArgument(
      "RONDO_SECRET_FILE {} has mode {:04o}, so that others than its owner may use it; chmod 600 "
      "it",
      path, facts.st_mode & 07777U);
}

Result<std::string> readSecret(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) {
    const int error = errno;
    return Status::systemError("RONDO_SECRET_FILE {} cannot be opened: {}", path, errnoText(error));
  }
  RONDO_RETURN_IF_ERROR(checkAccess(file.get(), path));
  std::string text(kMaxSecretBytes + 1, '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), 0);
  if (got < 0) {
    const int error = errno;
    return Status::systemError("RONDO_SECRET_FILE {} cannot be read: {}", path, errnoText(error));
  }
  text.resize(static_cast<std::size_t>(got));
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  if (text.size() < kMinSecretBytes || text.size() > kMaxSecretBytes) {
    return Status::invalidArgument(
        "RONDO_SECRET_FILE {} holds {} characters; {} to {} are accepted", path, text.size(),
        kMinSecretBytes, kMaxSecretBytes);
  }
  return text;
}

/// Empty: none was given.
Result<std::string> givenSecret(const MeetingSettings& settings) {
  if (settings.secretFile.empty()) return settings.secret;
  if (settings.secret.empty()) return readSecret(settings.secretFile);
  return Status::invalidArgument("RONDO_SECRET and RONDO_SECRET_FILE are both set; set one");
}

}  // namespace

Result<JobKey> makeJobKey(const MeetingSettings& settings, std::string_view job) {
  const Result<MessageAuthenticator> authenticator = MessageAuthenticator::shared();
  RONDO_RETURN_IF_ERROR(authenticator.status());
  Result<std::string> secret = givenSecret(settings);
  RONDO_RETURN_IF_ERROR(secret.status());
  const auto bytesOf = [](std::string_view text) { return std::as_bytes(std::span(text)); };
  const bool isSecret = !secret->empty();
  const Mac root = authenticator->authenticate(
      purpose(isSecret ? "rondo secret" : "rondo identity"), bytesOf(*secret));
  ::explicit_bzero(secret->data(), secret->size());
  return JobKey{SecretKey(authenticator->authenticate(SecretKey(root), bytesOf(job))), isSecret};
}

}  // namespace rondo
