// Why a call is carried out as it is, for programs that ask (rondoCommQuery).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/planner.h"

namespace rondo {

/// Texts without ownership are static and end with a zero.
struct Explanation {
  std::string_view algorithm;
  std::string_view protocol;  ///< how data is handed over
  int channels = 1;
  std::size_t chunkBytes = 0;
  double predictedMicros = 0;
  std::string transports;  ///< "shm, tcp"
  std::string why;         ///< "fastest of 4 by prediction; next: ring with 81.2 us"
};

/// Pure.
/// @param candidates all algorithms of the collective
/// @param transports those that lead to other ranks
Explanation explainPlan(const PlanRequest& request,
                        const Plan& plan,
                        const PlanFacts& facts,
                        const PlanSettings& settings,
                        std::span<const Candidate> candidates,
                        std::span<const std::string_view> transports,
                        bool onDevice);

}  // namespace rondo
