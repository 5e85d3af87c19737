#include "transports/shm/unix_messages.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "src/bootstrap/random_bytes.h"

namespace rondo::shm {

namespace {

/// A message with, as ancillary data, room for one descriptor.
class DescriptorMessage {
 public:
  explicit DescriptorMessage(std::span<std::byte> bytes) : part_{bytes.data(), bytes.size()} {
    message_.msg_iov = &part_;
    message_.msg_iovlen = 1;
    message_.msg_control = control_.data();
    message_.msg_controllen = control_.size();
  }

  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;

  msghdr* header() { return &message_; }

  void sendTo(const UnixAddress& address) {
    to_ = address.bytes;
    message_.msg_name = &to_;
    message_.msg_namelen = address.length;
  }

  void put(int descriptor) {
    cmsghdr* entry = CMSG_FIRSTHDR(&message_);
    entry->cmsg_level = SOL_SOCKET;
    entry->cmsg_type = SCM_RIGHTS;
    entry->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(entry), &descriptor, sizeof descriptor);
  }

  /// What was received, or none.
  FileDescriptor take() {
    const cmsghdr* entry = CMSG_FIRSTHDR(&message_);
    if (entry == nullptr || entry->cmsg_level != SOL_SOCKET || entry->cmsg_type != SCM_RIGHTS ||
        entry->cmsg_len != CMSG_LEN(sizeof(int))) {
      return {};
    }
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(entry), sizeof descriptor);
    return FileDescriptor(descriptor);
  }

 private:
  iovec part_;
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control_{};
  sockaddr_un to_{};
  msghdr message_{};
};

}  // namespace

UnixAddress::UnixAddress(std::string_view name) {
  bytes.sun_family = AF_UNIX;
  const std::size_t size = std::min(name.size(), sizeof bytes.sun_path - 1);
  std::memcpy(bytes.sun_path + 1, name.data(), size);
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
}

Result<std::string> randomSocketName() {
  std::array<std::byte, 16> bytes{};
  RONDO_RETURN_IF_ERROR(fillRandom(bytes));
  std::string name = "rondo-";
  for (const std::byte byte : bytes)
    name += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return name;
}

FileDescriptor unixSocket(int type, int flags) {
  return FileDescriptor(::socket(AF_UNIX, type | SOCK_CLOEXEC | flags, 0));
}

bool sendWithDescriptor(int socket,
                        std::span<std::byte> bytes,
                        int descriptor,
                        const UnixAddress* to) {
  DescriptorMessage message(bytes);
  message.put(descriptor);
  if (to != nullptr) message.sendTo(*to);
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, message.header(), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes.size());
}

std::ptrdiff_t receiveWithDescriptor(int socket,
                                     std::span<std::byte> bytes,
                                     FileDescriptor& descriptor) {
  DescriptorMessage message(bytes);
  ssize_t received = 0;
  do {
    received = ::recvmsg(socket, message.header(), MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received >= 0) descriptor = message.take();
  return received;
}

}  // namespace rondo::shm
