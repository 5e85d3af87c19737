#include "src/bootstrap/rendezvous.h"

#include <cstdint>
#include <utility>

#include "kernels/memory_order.h"
#include "src/bootstrap/message_authentication.h"
#include "src/bootstrap/rendezvous_service.h"
#include "src/log.h"
#include "src/net/advertised_addresses.h"
#include "src/net/event_signal.h"
#include "src/net/quiet_thread.h"

namespace rondo {

namespace {

/// Where a root is, for itself and for others.
struct Place {
  FileDescriptor listener;
  UniqueId id;
};

Result<FileDescriptor> openListener(const RendezvousSettings& settings) {
  const PortRange ports{settings.portFirst, settings.portLast};
  return settings.listenAt ? listenOn(*settings.listenAt, ports) : listenEverywhere(ports);
}

Result<Place> openPlace(const RendezvousSettings& settings) {
  Result<FileDescriptor> listener = openListener(settings);
  RONDO_RETURN_IF_ERROR(listener.status());
  const Result<SocketAddress> listening = localAddress(listener->get());
  RONDO_RETURN_IF_ERROR(listening.status());
  const Result<std::vector<SocketAddress>> addresses =
      settings.listenAt ? Result(std::vector{*listening})
                        : addressesToAdvertise({settings.interfaces, settings.advertisedAddress},
                                               *listening, kMostAddresses, "rendezvous");
  RONDO_RETURN_IF_ERROR(addresses.status());
  const Result<UniqueId> id = settings.secret ? Result(makeUniqueId(*addresses, *settings.secret))
                                              : makeUniqueId(*addresses);
  RONDO_RETURN_IF_ERROR(id.status());
  return Place{*std::move(listener), *id};
}

/// @param ended raised by the thread as the last thing it does; must outlive it.
Result<std::thread> startThread(std::shared_ptr<RendezvousService> service, std::uint32_t& ended) {
  return startQuietThread("rondo-meeting", [service = std::move(service), &ended]() mutable {
    service->run();
    service.reset();
    host::raiseFlag(ended);
  });
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
  Result<FileDescriptor> stopSignal = makeEventSignal();
  RONDO_RETURN_IF_ERROR(stopSignal.status());

  std::unique_ptr<Rendezvous> rendezvous(new Rendezvous(place->id, *std::move(stopSignal)));
  Result<std::thread> thread =
      startThread(std::make_shared<RendezvousService>(
                      RendezvousService::Parts{.listener = std::move(place->listener),
                                               .stopSignal = rendezvous->stopSignal_.get(),
                                               .key = content->secret,
                                               .authenticator = *authenticator,
                                               .privateOnly = settings.privateOnly}),
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
