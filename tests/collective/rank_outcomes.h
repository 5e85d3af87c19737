// What each rank of a test's communicator got, said and how long it took.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "rondo/rondo.h"
#include "tests/collective/communicators.h"

namespace rondo::testing {

struct Outcome {
  rondoResult_t result = rondoSuccess;
  std::string message;  ///< the communicator's last error, if result is one
  std::chrono::milliseconds took{0};
};

using RankBody = std::function<rondoResult_t(int rank, rondoComm_t comm)>;

/// What every rank got from `body`, run by the shared team of threads.
std::vector<Outcome> outcomesOf(const Communicators& communicators, const RankBody& body);

/// What has ended the communicator, or will within 10 s: the failure of one rank takes time to
/// reach another, which need not be in a call.
rondoResult_t awaitFailure(rondoComm_t comm);

/// Logs errors only. The tests' own deadline is far below the operation timeout, which is left at
/// its default: who waits for that, hangs.
CommunicatorSettings quietSettings(int ranks);

}  // namespace rondo::testing
