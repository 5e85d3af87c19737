// The rendezvous that this process serves, from rondoGetUniqueId until their ranks have met. They
// belong to no communicator, and the C interface has no call that ends them.
#pragma once

#include <memory>

#include "src/bootstrap/rendezvous.h"
#include "src/config.h"
#include "src/status.h"

namespace rondo {

/// What of the settings a rendezvous is told.
RendezvousSettings rendezvousSettings(const Config& config);

/// Starts a rendezvous and keeps it alive until it is over.
/// @threads any
/// @errors  as Rendezvous::start()
Result<UniqueId> serveRendezvous(const RendezvousSettings& settings);

/// Keeps a rendezvous that was started elsewhere alive until it is over.
/// @threads any
void keepRendezvous(std::unique_ptr<Rendezvous> rendezvous);

}  // namespace rondo
