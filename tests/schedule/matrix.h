// Every algorithm over many ranks, roots, slot depths, sizes and placements of the data.
#pragma once

#include <string>
#include <vector>

#include "tests/schedule/verifier.h"

namespace rondo::verifier {

/// The algorithms of `collective`, for value-parametrised tests.
std::vector<AlgorithmId> algorithmsOf(Collective collective);

/// "all_reduce_ring"
std::string algorithmTestName(AlgorithmId algorithm);

/// Calls of every interesting size and placement; `root` and `inPlace` apply to all of them.
std::vector<Call> callsOfAllShapes(AlgorithmId algorithm, int ranks, int root, bool inPlace);

/// The roots to try: all of few ranks, some of many; {0} where there is no root.
std::vector<int> rootsToTry(AlgorithmId algorithm, int ranks);

/// Verifies all shapes and roots with `ranks` ranks, in place and not, at 2, 3 and 8 slots and, if
/// the algorithm claims to run with it, at one (many ranks: a choice of these); every other run in
/// a random order of execution. Failures are reported to GoogleTest.
/// @returns the number of runs
std::size_t verifyAllShapes(AlgorithmId algorithm, int ranks);

/// Verifies the same, with payloads left in buffers, each rank once being the one that reads as
/// late as it can.
/// @param inputAlways input is left in its place whatever AlgorithmInfo::storesOverSentInput says
/// @returns the first failure, which is not reported; "" if there is none
std::string verifyLeftPayloads(AlgorithmId algorithm, int ranks, bool inputAlways);

}  // namespace rondo::verifier
