// The verbs transport: InfiniBand and RoCE adapters, where there are any. Apart from its class, so
// that what makes one compiles without the headers of libibverbs; verbs_absent.cc stands in for it
// there.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

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
  /// Whether a connection for which an adapter has no memory or no queue pair may go by a socket,
  /// as tcp's do; the same on all ranks.
  bool mayDetour = false;
};

std::shared_ptr<Transport> makeTransport(TransportParts parts);

/// What a transport finds on this machine, for telling users.
struct AdapterSurvey {
  std::vector<std::string> usable;      ///< ports, as "mlx5_0 port 1 (RoCE, GIDs: 3 10.0.0.1)"
  std::vector<std::string> passedOver;  ///< why each adapter or port is not used
  bool emulated = false;                ///< some usable port makes its packets in software
};

/// Opens the adapters and closes them again.
/// @errors NotSupported (no libibverbs, no adapter, a build without verbs), InvalidArgument (a
///   setting).
/// @threads any
Result<AdapterSurvey> surveyAdapters(const Settings& settings);

}  // namespace rondo::verbs
