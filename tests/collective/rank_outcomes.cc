#include "tests/collective/rank_outcomes.h"

#include <gtest/gtest.h>

#include "tests/collective/rank_team.h"

namespace rondo::testing {

std::vector<Outcome> outcomesOf(const Communicators& communicators, const RankBody& body) {
  using Clock = std::chrono::steady_clock;
  std::vector<Outcome> outcomes(static_cast<std::size_t>(communicators.ranks()));
  const auto run = [&](int rank) {
    const Clock::time_point start = Clock::now();
    Outcome& own = outcomes[static_cast<std::size_t>(rank)];
    own.result = body(rank, communicators[rank]);
    own.took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
    if (own.result != rondoSuccess) own.message = rondoGetLastError(communicators[rank]);
  };
  EXPECT_TRUE(RankTeam::shared().run(communicators.ranks(), run, [&] { communicators.abort(); }));
  return outcomes;
}

CommunicatorSettings quietSettings(int ranks) {
  CommunicatorSettings settings;
  settings.ranks = ranks;
  settings.logLevel = "error";
  return settings;
}

}  // namespace rondo::testing
