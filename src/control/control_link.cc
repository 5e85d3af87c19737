#include "src/control/control_link.h"

#include <array>
#include <optional>

#include "src/net/keepalive.h"
#include "src/net/socket.h"

namespace rondo {

ControlLink::ControlLink(int peer, FileDescriptor socket)
    : peer_(peer), socket_(std::move(socket)), name_(fmt::format("rank {}", peer)) {
  detectDeadHost(socket_.get());
}

Status ControlLink::send() {
  if (output_.empty()) return {};
  const Result<std::size_t> sent = sendSome(socket_.get(), output_, name_);
  RONDO_RETURN_IF_ERROR(sent.status());
  output_.erase(output_.begin(), output_.begin() + static_cast<std::ptrdiff_t>(*sent));
  return {};
}

Result<std::optional<Frame>> ControlLink::receive() {
  std::array<std::byte, kMaxControlBytes> buffer;
  while (!reader_.complete()) {
    const std::size_t most = std::min(buffer.size(), reader_.wanted());
    const Result<std::size_t> received =
        recvSome(socket_.get(), std::span(buffer).first(most), name_);
    RONDO_RETURN_IF_ERROR(received.status());
    if (*received == 0) return std::optional<Frame>{};
    RONDO_RETURN_IF_ERROR(reader_.receive(std::span(buffer).first(*received)));
  }
  return std::optional(reader_.take());
}

}  // namespace rondo
