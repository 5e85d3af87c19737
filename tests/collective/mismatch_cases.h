// The seven ways in which one rank's calls may not belong with those of the others, as one table:
// tests/collective/mismatch_test.cc plays it with threads, tests/multiprocess/mismatch_test.cc with
// processes.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "rondo/rondo.h"
#include "tests/collective/plain_call.h"

namespace rondo::testing {

struct MismatchCase {
  std::string name;
  std::vector<Call> most;  ///< what all ranks but one call
  std::vector<Call> odd;   ///< what the one calls
  std::string mostText;    ///< what every rank's error says of either
  std::string oddText;
  bool rejected = false;  ///< the odd rank's call is refused before its first step
};

/// Each kind twice: small, with plans that agree wherever they can, and large, with plans that do
/// not.
std::vector<MismatchCase> mismatchCases();

void PrintTo(const MismatchCase& mismatch, std::ostream* stream);

/// Makes one rank's calls, then barriers, until one fails: a rank whose own call could end without
/// the odd one's learns of it there. A rank whose call is refused makes no other and waits for what
/// becomes of the communicator.
rondoResult_t play(const MismatchCase& mismatch, bool odd, rondoComm_t comm);

}  // namespace rondo::testing
