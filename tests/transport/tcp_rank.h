// A rank over tcp, for tests of transports: its transport with the control plane that makes its
// connections, and nobody to tell news to.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "src/control/control_plane.h"
#include "tests/transport/transport_body.h"
#include "tests/unit/secret_keys.h"
#include "transports/tcp/tcp_transport.h"

namespace rondo::testing {

/// Knows nothing and forgets all.
class SilentSubject final : public ControlSubject {
 public:
  RankNews newsFor(int /*asker*/) override { return {}; }

  void learn(int /*rank*/, const RankNews& /*news*/) override {}

  void learnLoss(int /*rank*/, const std::string& /*why*/) override {}

  void learnFailure(const Status& /*failure*/) override {}
};

/// The control plane of a rank, reached by the loopback.
inline std::unique_ptr<ControlPlane> openControl(const RankPlace& place) {
  ControlSettings settings;
  settings.rank = place.rank;
  settings.ranks = place.ranks;
  settings.addresses.interfaces = "lo";
  return *ControlPlane::open(settings, keyOf(place.job));
}

class TcpRank final : public TransportRank {
 public:
  explicit TcpRank(const RankPlace& place)
      : control_(openControl(place)),
        transport_(place.rank, place.slots, control_.get(), Status(), kTransportTimeout) {}

  Transport& transport() override { return transport_; }

  Status start() override { return control_->start(subject_); }

 private:
  /// For the making of one connection.
  static constexpr std::chrono::milliseconds kTransportTimeout{10000};

  SilentSubject subject_;
  std::unique_ptr<ControlPlane> control_;
  tcp::TcpTransport transport_;
};

}  // namespace rondo::testing
