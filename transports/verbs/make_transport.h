// The verbs transport: InfiniBand and RoCE adapters, where there are any. Apart from its class, so
// that what makes one compiles without the headers of libibverbs; verbs_absent.cc stands in for it
// there.
#pragma once

#include <chrono>
#include <memory>

#include "src/control/control_plane.h"
#include "transports/slot_account.h"
#include "transports/transport.h"
#include "transports/verbs/settings.h"

namespace rondo::verbs {

/// What a transport is made of.
struct TransportParts {
  int rank = 0;
  SlotShape slots;
  ControlPlane* control = nullptr;  ///< makes and takes the connections; must outlive the transport
  Status whyNoControl;              ///< if `control` is null
  Settings settings;
  std::chrono::milliseconds connectTimeout{0};
  SlotAccount account;  ///< pays for the slots of this rank's ends
};

std::shared_ptr<Transport> makeTransport(TransportParts parts);

/// Whether some port that `settings` allow belongs to an adapter that is emulated by software.
bool usesEmulatedAdapter(const Settings& settings);

}  // namespace rondo::verbs
