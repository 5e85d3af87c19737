#include "tests/train/rank_threads.h"

#include <exception>

#include <gtest/gtest.h>

#include "tests/collective/rank_team.h"

namespace rondo::testing {

void runRanks(int ranks, const std::function<void(const Communicator&)>& body) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.reproducible = 1;
  config.operationTimeoutMs = 60000;
  config.logLevel = "error";
  std::vector<Communicator> comms = Communicator::createAll(ranks, config);
  const auto play = [&](int rank) {
    const Communicator& comm = comms[static_cast<std::size_t>(rank)];
    try {
      body(comm);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "rank " << rank << ": " << error.what();
      comm.abort();
    }
  };
  const auto rescue = [&] {
    for (const Communicator& comm : comms)
      comm.abort();
  };
  RankTeam::shared().run(ranks, play, rescue);
}

}  // namespace rondo::testing
