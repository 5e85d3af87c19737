// Which calls are made. Every set of algorithms has one for each collective, so that communicators
// are made once for many calls.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "collectives/registry.h"
#include "tests/gpu_check/check_call.h"

namespace rondo::gpucheck {

// Of one rank's vector, or of all blocks together; rounded to an odd number of elements.
inline constexpr std::size_t kFewElements = 0;    ///< one to three of each block
inline constexpr std::size_t kSmallBytes = 3000;  ///< the library's protocols change at 64 KiB
inline constexpr std::size_t kLargeBytes = (64U << 10U) + 3000;
inline constexpr std::size_t kBigBytes = (16U << 20U) + 12;  ///< more than connections hold

/// Sets of algorithms: as many as the collective with the most algorithms has.
std::size_t mostAlgorithms();

/// Set `number`, as rondoConfig_t::algorithm. A collective with fewer algorithms has its last.
std::string algorithmsText(std::size_t number);

/// The algorithms that set `number` brings for the first time.
std::vector<AlgorithmId> newIn(std::size_t number);

/// All calls of an algorithm: for each type and reduction one with each of `sizes`.
std::vector<CheckCall> callsOf(AlgorithmId algorithm,
                               int ranks,
                               const std::vector<std::size_t>& sizes);

/// Each collective with each of `sizes`, by the planner's choice.
std::vector<CheckCall> smokeCalls(int ranks, const std::vector<std::size_t>& sizes);

}  // namespace rondo::gpucheck
