#include "src/bootstrap/random_bytes.h"

#include <cerrno>

#include <sys/random.h>

#include "src/net/errno_text.h"

namespace rondo {

Status fillRandom(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
    if (got < 0) {
      const int error = errno;
      if (error == EINTR) continue;
      return Status::systemError("the system gives no random bytes: {}", errnoText(error));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

}  // namespace rondo
