// The transports that the common tests are run for.
#include "examples/transport_packets/packet_transport.h"
#include "src/rank_info.h"
#include "tests/transport/tcp_rank.h"
#include "tests/transport/transport_body.h"
#include "transports/shm/shm_transport.h"

namespace rondo::testing {
namespace {

TransportKind shmKind() {
  return {"shm", [](const RankPlace& place) {
            return std::make_unique<PlainRank<shm::ShmTransport>>(place.rank, hostIdentity(""),
                                                                  place.slots, keyOf(place.job));
          }};
}

TransportKind tcpKind() {
  return {"tcp", [](const RankPlace& place) { return std::make_unique<TcpRank>(place); }};
}

TransportKind packetKind() {
  return {"packets", [](const RankPlace& place) {
            return std::make_unique<PlainRank<example::PacketTransport>>(place.rank, place.slots);
          }};
}

INSTANTIATE_TEST_SUITE_P(Transports,
                         TransportTest,
                         ::testing::Values(shmKind(), tcpKind(), packetKind()),
                         nameOfKind);

}  // namespace
}  // namespace rondo::testing
