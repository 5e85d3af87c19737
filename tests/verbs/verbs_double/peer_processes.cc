#include "tests/verbs/verbs_double/peer_processes.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/verbs/verbs_double/world.h"

namespace rondo::testing {

namespace {

enum class Kind : std::uint32_t { kPacket, kVerdict };

/// Before each message.
struct Envelope {
  Kind kind = Kind::kPacket;
  Packet packet;  ///< of a verdict: the one that it is about
  Verdict verdict = Verdict::kDone;
};

/// In the abstract namespace, so that nothing stays behind.
socklen_t addressOf(std::uint32_t process, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  const int length = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1,
                                   "rondo-verbs-double-%u", process);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + std::size_t(length));
}

int makeSocket() {
  return ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

}  // namespace

struct PeerProcesses::Link {
  int socket = -1;
  std::uint32_t process = 0;  ///< 0: it has connected
  std::vector<std::byte> out;
  std::vector<std::byte> in;
  bool ended = false;
};

PeerProcesses::PeerProcesses(World& world) : world_(world) {
  listener_ = makeSocket();
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::minstd_rand random(std::random_device{}());
  sockaddr_un address{};
  socklen_t length = 0;
  do {
    own_ = 1 + static_cast<std::uint32_t>(random()) % 0xffe;
    length = addressOf(own_, address);
  } while (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), length) != 0);
  if (::listen(listener_, 4096) != 0) std::abort();
  // Signals are for the program's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([this] { run(); }).detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

PeerProcesses::~PeerProcesses() = default;

void PeerProcesses::wake() const {
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
}

PeerProcesses::Link* PeerProcesses::linkTo(std::uint32_t process) {
  const auto found = byProcess_.find(process);
  if (found != byProcess_.end()) return found->second;
  const int made = makeSocket();
  sockaddr_un address{};
  const socklen_t length = addressOf(process, address);
  if (::connect(made, reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    ::close(made);
    return nullptr;
  }
  links_.push_back(std::make_unique<Link>());
  links_.back()->socket = made;
  links_.back()->process = process;
  byProcess_[process] = links_.back().get();
  wake();  // it has to listen there, too
  return links_.back().get();
}

bool PeerProcesses::send(const Packet& packet, const std::byte* payload) {
  Link* const link = linkTo(packet.to >> kPairBits);
  if (link == nullptr || link->ended) return false;
  const Envelope envelope{Kind::kPacket, packet, Verdict::kDone};
  append(*link, &envelope, sizeof envelope);
  append(*link, payload, packet.bytes);
  flush(*link);
  return true;
}

void PeerProcesses::append(Link& link, const void* data, std::size_t bytes) {
  const auto* const begin = static_cast<const std::byte*>(data);
  if (bytes > 0) link.out.insert(link.out.end(), begin, begin + bytes);
}

void PeerProcesses::flush(Link& link) {
  while (!link.out.empty() && !link.ended) {
    const ssize_t sent = ::send(link.socket, link.out.data(), link.out.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return wake();
    if (sent < 0) {
      link.ended = true;
      return wake();
    }
    link.out.erase(link.out.begin(), link.out.begin() + sent);
  }
}

void PeerProcesses::take(Link& link) {
  std::array<std::byte, 65536> buffer;
  for (;;) {
    const ssize_t received = ::recv(link.socket, buffer.data(), buffer.size(), 0);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0 && errno == EAGAIN) return;
    if (received <= 0) {
      link.ended = true;
      return;
    }
    link.in.insert(link.in.end(), buffer.begin(), buffer.begin() + received);
    serve(link);
  }
}

/// Handles the messages that are there whole.
void PeerProcesses::serve(Link& link) {
  std::size_t at = 0;
  Envelope envelope;
  while (link.in.size() - at >= sizeof envelope) {
    std::memcpy(&envelope, link.in.data() + at, sizeof envelope);
    const bool isPacket = envelope.kind == Kind::kPacket;
    const std::size_t whole = sizeof envelope + (isPacket ? envelope.packet.bytes : 0);
    if (link.in.size() - at < whole) break;
    if (isPacket) {
      envelope.verdict = world_.deliver(envelope.packet, link.in.data() + at + sizeof envelope);
      envelope.kind = Kind::kVerdict;
      append(link, &envelope, sizeof envelope);
    } else {
      world_.onVerdict(envelope.packet.from, envelope.packet.number, envelope.verdict);
    }
    at += whole;
  }
  link.in.erase(link.in.begin(), link.in.begin() + static_cast<std::ptrdiff_t>(at));
  flush(link);
}

void PeerProcesses::run() {
  std::vector<pollfd> events;
  for (;;) {
    timespec pause{.tv_sec = 1, .tv_nsec = 0};
    {
      const std::scoped_lock lock(world_.mutex);
      const auto left = world_.tick() - Clock::now();
      if (left < std::chrono::seconds{1}) {
        const auto nanos = std::max(std::chrono::nanoseconds{0}, std::chrono::nanoseconds{left});
        pause = {.tv_sec = 0, .tv_nsec = nanos.count()};
      }
      events = {{.fd = wake_, .events = POLLIN, .revents = 0},
                {.fd = listener_, .events = POLLIN, .revents = 0}};
      for (const auto& link : links_) {
        const int wishes = link->out.empty() ? POLLIN : POLLIN | POLLOUT;
        events.push_back({.fd = link->socket, .events = static_cast<short>(wishes), .revents = 0});
      }
    }
    (void)::ppoll(events.data(), events.size(), &pause, nullptr);
    const std::scoped_lock lock(world_.mutex);
    std::uint64_t count = 0;
    (void)!::read(wake_, &count, sizeof count);
    for (std::size_t at = 0; at < links_.size(); ++at) {
      flush(*links_[at]);
      take(*links_[at]);
    }
    for (;;) {
      const int accepted = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (accepted < 0) break;
      links_.push_back(std::make_unique<Link>());
      links_.back()->socket = accepted;
    }
    std::erase_if(links_, [this](const auto& link) {
      if (!link->ended) return false;
      ::close(link->socket);
      if (link->process == 0) return true;
      byProcess_.erase(link->process);
      for (const auto& [number, pair] : world_.pairs) {
        const bool concerned = pair->attributes.dest_qp_num >> kPairBits == link->process;
        if (concerned && !pair->requests.empty()) {
          world_.onVerdict(number, pair->requests.front().number, Verdict::kNoAnswer);
        }
      }
      return true;
    });
  }
}

}  // namespace rondo::testing
