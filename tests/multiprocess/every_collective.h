// Calls whose results a rank's process can check without the others' help.
#pragma once

#include <cstddef>

#include "rondo/rondo.h"

namespace rondo::testing {

/// 0 if `result` is success; else prints the last error of `comm` and gives 1.
int failed(rondoComm_t comm, rondoResult_t result);

/// Every collective once, those with a root from each, or from every `rootStride`-th.
/// @return how much was wrong; what, is on stderr
int callEverything(rondoComm_t comm, int ranks, int rank, std::size_t count, int rootStride = 1);

/// One all-reduce. @return how much was wrong; what, is on stderr
int sumExactly(rondoComm_t comm, int ranks, int rank, std::size_t count);

}  // namespace rondo::testing
