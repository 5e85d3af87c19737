// The common tests of transports for verbs over soft-RoCE devices: needs rxe0 and rxe1,
// as rxe_guest/ makes them. A device that talks to itself sends no packets, so ranks take turns
// over the devices, as if they were on two hosts.
#include "tests/transport/transport_body.h"
#include "tests/transport/verbs_rank.h"

namespace rondo::testing {
namespace {

TransportKind rxeKind() {
  return {"rxe", [](const RankPlace& place) {
            verbs::Settings settings;
            settings.devices = fmt::format("rxe{}", place.rank % 2);
            return std::make_unique<VerbsRank>(place, settings);
          }};
}

INSTANTIATE_TEST_SUITE_P(Rxe, TransportTest, ::testing::Values(rxeKind()), nameOfKind);

}  // namespace
}  // namespace rondo::testing
