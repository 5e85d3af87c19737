// Ranks that are threads, for tests of the trainer layer.
#pragma once

#include <functional>
#include <vector>

#include "rondo/rondo.hpp"

namespace rondo::testing {

/// Makes `ranks` communicators in reproducible mode and runs `body` for each in a thread of its
/// own. Fails the test, instead of hanging, when the ranks do not come back.
void runRanks(int ranks, const std::function<void(const Communicator&)>& body);

}  // namespace rondo::testing
