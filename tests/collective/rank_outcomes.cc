#include "tests/collective/rank_outcomes.h"

#include <thread>

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

rondoResult_t awaitFailure(rondoComm_t comm) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  rondoResult_t state = rondoSuccess;
  for (;;) {
    if (rondoCommGetAsyncError(comm, &state) != rondoSuccess) return rondoInternalError;
    if (state != rondoSuccess || std::chrono::steady_clock::now() >= deadline) return state;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

CommunicatorSettings quietSettings(int ranks) {
  CommunicatorSettings settings;
  settings.ranks = ranks;
  settings.logLevel = "error";
  return settings;
}

}  // namespace rondo::testing
