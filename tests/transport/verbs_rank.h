// A rank over verbs, for tests of transports: its transport with the control plane that makes its
// connections.
#pragma once

#include <memory>

#include "tests/transport/tcp_rank.h"
#include "transports/verbs/make_transport.h"

namespace rondo::testing {

class VerbsRank final : public TransportRank {
 public:
  explicit VerbsRank(const RankPlace& place,
                     const verbs::Settings& settings = {},
                     bool mayDetour = false)
      : control_(openControl(place)),
        transport_(verbs::makeTransport({.rank = place.rank,
                                         .slots = place.slots,
                                         .control = control_.get(),
                                         .whyNoControl = Status(),
                                         .settings = settings,
                                         .connectTimeout = std::chrono::milliseconds{10000},
                                         .account = SlotAccount(),
                                         .mayDetour = mayDetour})) {}

  Transport& transport() override { return *transport_; }

  Status start() override { return control_->start(subject_); }

  ControlPlane& control() { return *control_; }

 private:
  SilentSubject subject_;
  std::unique_ptr<ControlPlane> control_;
  std::shared_ptr<Transport> transport_;
};

}  // namespace rondo::testing
