#include "src/bootstrap/rendezvous.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>
#include <utility>

#include <sys/eventfd.h>

#include "kernels/memory_order.h"
#include "src/bootstrap/message_authentication.h"
#include "src/bootstrap/rendezvous_service.h"
#include "src/log.h"
#include "src/net/errno_text.h"
#include "src/net/interfaces.h"

namespace rondo {

namespace {

/// Blocks the signals of the calling thread, and with it of threads it starts, until it goes: the
/// program's handlers must not run in a thread the program does not know. Not those that a thread
/// causes itself: they mean a fault, and whoever handles faults wants to know.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
      ::sigdelset(&all, fault);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }

  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  SignalsBlocked(SignalsBlocked&&) = delete;
  SignalsBlocked& operator=(SignalsBlocked&&) = delete;

  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

Result<std::vector<SocketAddress>> givenAddress(const std::string& text, std::uint16_t port) {
  if (const std::optional<SocketAddress> host = SocketAddress::parseHost(text)) {
    return std::vector{host->withPort(port)};
  }
  const Result<SocketAddress> address = SocketAddress::parse(text);
  if (!address.ok()) return address.status().withContext("advertised address");
  return std::vector{*address};
}

/// The addresses to put into the id.
/// @param listening where the root listens: an IPv4 address means no IPv6.
Result<std::vector<SocketAddress>> addressesToAdvertise(const RendezvousSettings& settings,
                                                        const SocketAddress& listening) {
  if (!settings.advertisedAddress.empty()) {
    return givenAddress(settings.advertisedAddress, listening.port());
  }
  Result<std::vector<InterfaceAddress>> all = findInterfaceAddresses();
  RONDO_RETURN_IF_ERROR(all.status());
  if (listening.family() == AddressFamily::kIpv4) {
    std::erase_if(*all, [](const InterfaceAddress& candidate) {
      return candidate.address.family() == AddressFamily::kIpv6;
    });
  }
  const Result<std::vector<InterfaceAddress>> ranked =
      rankInterfaces(*all, {.pattern = settings.interfaces, .routed = defaultRoutedAddress()});
  RONDO_RETURN_IF_ERROR(ranked.status());
  const std::vector<InterfaceAddress> best = takeBest(*ranked, kMostAddresses);
  RONDO_LOG(kInfo, kCommunicator, "rendezvous advertises {} of {}, port {}", listInterfaces(best),
            listInterfaces(*all), listening.port());
  std::vector<SocketAddress> addresses;
  std::transform(
      best.begin(), best.end(), std::back_inserter(addresses),
      [&](const InterfaceAddress& chosen) { return chosen.address.withPort(listening.port()); });
  return addresses;
}

Result<FileDescriptor> makeStopSignal() {
  FileDescriptor signal(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (signal.valid()) return signal;
  const int error = errno;
  return Status::systemError("cannot make an eventfd: {}", errnoText(error));
}

/// Where a root is, for itself and for others.
struct Place {
  FileDescriptor listener;
  UniqueId id;
};

Result<Place> openPlace(const RendezvousSettings& settings) {
  Result<FileDescriptor> listener = listenEverywhere({settings.portFirst, settings.portLast});
  RONDO_RETURN_IF_ERROR(listener.status());
  const Result<SocketAddress> listening = localAddress(listener->get());
  RONDO_RETURN_IF_ERROR(listening.status());
  const Result<std::vector<SocketAddress>> addresses = addressesToAdvertise(settings, *listening);
  RONDO_RETURN_IF_ERROR(addresses.status());
  const Result<UniqueId> id = makeUniqueId(*addresses);
  RONDO_RETURN_IF_ERROR(id.status());
  return Place{*std::move(listener), *id};
}

/// @param ended raised by the thread as the last thing it does; must outlive it.
Result<std::thread> startThread(std::unique_ptr<RendezvousService> service, std::uint32_t& ended) {
  const SignalsBlocked blocked;
  try {
    return std::thread([service = std::move(service), &ended]() mutable {
      service->run();
      service.reset();
      host::raiseFlag(ended);
    });
  } catch (const std::system_error& failure) {
    return Status::systemError("cannot start the thread of a rendezvous: {}", failure.what());
  }
}

}  // namespace

Rendezvous::Rendezvous(const UniqueId& id, FileDescriptor stopSignal)
    : id_(id), stopSignal_(std::move(stopSignal)) {}

Result<std::unique_ptr<Rendezvous>> Rendezvous::start(const RendezvousSettings& settings) {
  const Result<MessageAuthenticator> authenticator = MessageAuthenticator::shared();
  RONDO_RETURN_IF_ERROR(authenticator.status());
  Result<Place> place = openPlace(settings);
  RONDO_RETURN_IF_ERROR(place.status());
  const Result<UniqueIdContent> content = readUniqueId(place->id);
  RONDO_RETURN_IF_ERROR(content.status());
  Result<FileDescriptor> stopSignal = makeStopSignal();
  RONDO_RETURN_IF_ERROR(stopSignal.status());

  std::unique_ptr<Rendezvous> rendezvous(new Rendezvous(place->id, *std::move(stopSignal)));
  Result<std::thread> thread =
      startThread(std::make_unique<RendezvousService>(
                      RendezvousService::Parts{.listener = std::move(place->listener),
                                               .stopSignal = rendezvous->stopSignal_.get(),
                                               .key = content->secret,
                                               .authenticator = *authenticator}),
                  rendezvous->ended_);
  RONDO_RETURN_IF_ERROR(thread.status());
  rendezvous->thread_ = *std::move(thread);
  return rendezvous;
}

Rendezvous::~Rendezvous() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  RONDO_CHECK(::write(stopSignal_.get(), &one, sizeof one) == sizeof one);  // cannot block or fail
  thread_.join();
}

}  // namespace rondo
