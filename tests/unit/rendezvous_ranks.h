// Ranks that are threads, for the tests of the rendezvous.
#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "src/bootstrap/rendezvous.h"

namespace rondo::testing_ranks {

using Payloads = Result<std::vector<std::string>>;

/// Long for any test that succeeds.
inline constexpr std::chrono::milliseconds kPatience{20000};

inline RendezvousSettings loopbackSettings(std::chrono::milliseconds timeout = kPatience) {
  return {.initTimeout = timeout, .interfaces = "lo"};
}

inline std::unique_ptr<Rendezvous> startRendezvous(
    const RendezvousSettings& settings = loopbackSettings()) {
  Result<std::unique_ptr<Rendezvous>> rendezvous = Rendezvous::start(settings);
  EXPECT_TRUE(rendezvous.ok()) << rendezvous.status().message();
  return rendezvous.ok() ? *std::move(rendezvous) : nullptr;
}

inline std::string payloadOf(int rank) {
  return "payload of rank " + std::to_string(rank);
}

/// One thread that joins, as any rank.
struct Joiner {
  int rank = 0;
  int ranks = 1;
  std::chrono::milliseconds timeout = kPatience;
};

/// Lets all of them join at once.
/// @return what each got, in their order.
inline std::vector<Payloads> joinAll(const UniqueId& id, const std::vector<Joiner>& joiners) {
  std::vector<Payloads> results(joiners.size(), Status::internal("has not run"));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < joiners.size(); ++i) {
    threads.emplace_back([&, i] {
      const Joiner& self = joiners[i];
      results[i] = joinRendezvous(id, self.rank, self.ranks, payloadOf(self.rank),
                                  loopbackSettings(self.timeout));
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  return results;
}

/// All ranks of a job.
inline std::vector<Joiner> allRanks(int ranks, std::chrono::milliseconds timeout = kPatience) {
  std::vector<Joiner> joiners;
  for (int rank = 0; rank < ranks; ++rank)
    joiners.push_back({rank, ranks, timeout});
  return joiners;
}

inline void expectComplete(const std::vector<Payloads>& results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_TRUE(results[i].ok()) << i << ": " << results[i].status().message();
    ASSERT_EQ(results[i]->size(), results.size());
    for (std::size_t rank = 0; rank < results.size(); ++rank) {
      EXPECT_EQ((*results[i])[rank], payloadOf(static_cast<int>(rank)));
    }
  }
}

inline void expectFailure(const Payloads& result,
                          StatusCode code,
                          const std::vector<std::string>& parts) {
  ASSERT_FALSE(result.ok());
  const Status status = result.status();
  EXPECT_EQ(status.code(), code) << status.message();
  for (const std::string& part : parts) {
    EXPECT_NE(status.message().find(part), std::string_view::npos)
        << "no \"" << part << "\" in: " << status.message();
  }
}

}  // namespace rondo::testing_ranks
