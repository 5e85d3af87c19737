// The common tests of transports for verbs over the double, on each kind of network.
#include "tests/transport/transport_body.h"
#include "tests/transport/verbs_rank.h"

namespace rondo::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Verbs,
                         TransportTest,
                         ::testing::Values(TransportKind{"verbs",
                                                         [](const RankPlace& place) {
                                                           return std::make_unique<VerbsRank>(
                                                               place, verbs::Settings{},
                                                               /*mayDetour=*/true);
                                                         }}),
                         nameOfKind);

}  // namespace
}  // namespace rondo::testing
