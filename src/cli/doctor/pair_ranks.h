// Measures how fast ranks of this host reach each other: the command starts itself as ranks, which
// measure pair after pair on communicators of two and leave their numbers in a file in memory.
#pragma once

#include <string>

#include "src/cli/doctor/pairs.h"
#include "src/config.h"
#include "src/status.h"

namespace rondo::doctor {

/// The flag with which the command starts itself as a rank; its value is the file.
inline constexpr const char* kResultFlag = "--measure-as-rank";

/// The default of `--ranks`: one on each processor, but 2 at least and 4 at most.
int usualRanks(int processors);

/// Starts `ranks` processes of this command and waits for their numbers; or finds why that would
/// tell nothing. Pairs are measured one after another, while the other ranks sleep.
/// @param ranks  0: measures nothing
/// @param config the environment's settings, or why they are not accepted
/// @threads      of a process that has one thread
PairFacts measurePairs(int ranks, const Result<Config>& config);

/// What each of those processes does. Rank 0 writes all numbers, or the failure, to `resultFile`.
/// @errors those of the library
Status measureAsRank(const std::string& resultFile);

}  // namespace rondo::doctor
