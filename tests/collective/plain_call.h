// A collective call by its arguments alone, for tests that look at how calls end, not at numbers.
#pragma once

#include <cstddef>

#include "collectives/schedule.h"
#include "rondo/rondo.h"

namespace rondo::testing {

/// Up to 1 MiB of each rank's input and output.
struct Call {
  Collective collective = Collective::kAllReduce;
  std::size_t count = 1000;
  rondoDataType_t type = rondoFloat32;
  rondoRedOp_t op = rondoSum;
  int root = 0;
};

/// Makes the call with buffers of its own.
rondoResult_t make(const Call& call, rondoComm_t comm);

}  // namespace rondo::testing
