// Both ends of a tcp connection against a peer that sends anything. The first byte of an input
// chooses the end, the second how the executor there behaves, the third how long the pieces are in
// which the rest arrives.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <sys/socket.h>

#include "transports/tcp/recv_link.h"
#include "transports/tcp/send_link.h"

namespace rondo::tcp {
namespace {

constexpr std::size_t kSlotBytes = 64;
constexpr std::uint32_t kSlots = 3;

/// A connected pair: the link's end and the attacker's.
struct SocketPair {
  SocketPair() {
    std::array<int, 2> ends{};
    RONDO_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) ==
                0);
    link = FileDescriptor(ends[0]);
    attacker = FileDescriptor(ends[1]);
  }

  FileDescriptor link;
  FileDescriptor attacker;
};

/// Takes what the link has sent, so that it never lacks room.
void drain(const FileDescriptor& socket) {
  std::array<std::byte, 4096> bytes;
  while (::recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
  }
}

/// Gives `input` to a link in pieces, and has it make progress after each, and after the end.
template <class AfterEach>
void feed(FileDescriptor attacker,
          std::span<const std::byte> input,
          std::size_t pieceBytes,
          AfterEach afterEach) {
  while (!input.empty()) {
    const std::size_t piece = std::min(input.size(), pieceBytes);
    if (::send(attacker.get(), input.data(), piece, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) break;
    input = input.subspan(piece);
    afterEach();
    drain(attacker);
  }
  attacker.reset();
  afterEach();
}

/// @param releases of four bits each: how many slots the executor releases at a time
void attackReceiver(std::span<const std::byte> input, unsigned releases, std::size_t pieceBytes) {
  SocketPair sockets;
  RecvLink link(1, PrivateConnection::make(kSlotBytes, kSlots));
  RecvEnd executor(link.memory(), 1);
  link.adopt(std::move(sockets.link), kSlots);
  bool failed = false;
  feed(std::move(sockets.attacker), input, pieceBytes, [&] {
    const Result<bool> moved = link.progress();
    RONDO_CHECK(moved.ok() || (moved.status().code() == StatusCode::kMismatch && !failed));
    failed = failed || !moved.ok();
    RONDO_CHECK(!failed || link.ended());
    RONDO_CHECK(link.arrived() - link.released() <= kSlots);
    for (unsigned left = releases % 4; left > 0 && executor.slotFull(); --left) {
      RONDO_CHECK(executor.entry().bytes <= kSlotBytes);
      executor.release();
    }
    releases = releases / 4 | releases % 4 << 6;
  });
  // What was refused, or ended, stays so.
  while (!failed && !link.ended()) {
    while (executor.slotFull())
      executor.release();
    const Result<bool> moved = link.progress();
    failed = !moved.ok();
  }
  RONDO_CHECK(link.ended());
}

/// @param posts likewise: how many slots the executor posts at a time
void attackSender(std::span<const std::byte> input, unsigned posts, std::size_t pieceBytes) {
  SocketPair sockets;
  SendLink link(1, std::move(sockets.link), PrivateConnection::make(kSlotBytes, kSlots));
  SendEnd executor(link.memory(), 1);
  std::uint64_t before = 0;
  feed(std::move(sockets.attacker), input, pieceBytes, [&] {
    for (unsigned left = posts % 4; left > 0 && executor.slotFree(); --left) {
      std::memset(executor.slot(), 1, kSlotBytes);
      executor.post({left * 16, 5});
    }
    posts = posts / 4 | posts % 4 << 6;
    const Result<bool> moved = link.progress();
    RONDO_CHECK(moved.ok() || moved.status().code() == StatusCode::kMismatch);
    RONDO_CHECK(link.released() >= before && link.released() <= link.posted());
    RONDO_CHECK(link.posted() - link.released() <= kSlots);
    before = link.released();
  });
  link.close();
  RONDO_CHECK(link.flushed() && link.taken());
}

void attack(std::span<const std::byte> input) {
  if (input.size() < 3) return;
  const auto behaviour = std::to_integer<unsigned>(input[1]);
  const std::size_t pieceBytes = std::to_integer<std::size_t>(input[2]) + 1;
  if (std::to_integer<int>(input[0]) % 2 == 0) {
    attackReceiver(input.subspan(3), behaviour, pieceBytes);
  } else {
    attackSender(input.subspan(3), behaviour, pieceBytes);
  }
}

}  // namespace
}  // namespace rondo::tcp

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rondo::tcp::attack(std::as_bytes(std::span(data, size)));
  return 0;
}
