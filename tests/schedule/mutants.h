// Schedules and executors with a bug in them, to show that the verifier would find it.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/schedule/verifier.h"

namespace rondo::verifier {

/// Changes the schedule of one rank.
using Edit = std::function<void(RecordedSchedule&, const ScheduleArgs&)>;

struct Mutant {
  std::string name;                      ///< for the test's name
  std::string bug;                       ///< the mistake that it stands for
  Call call;                             ///< correct without the bug
  std::vector<Failure> expected;         ///< any of these must be reported ...
  std::vector<std::size_t> slots{2, 8};  ///< ... with each of these depths
  Edit edit = nullptr;
  ExecutorFault fault = ExecutorFault::kNone;
  std::uint64_t order = 0;  ///< of execution, as in Setup
  int ranks = 5;
  bool leavesPayloads = false;  ///< as in Setup
  int laziest = -1;             ///< likewise
};

/// For GoogleTest.
inline void PrintTo(const Mutant& mutant, std::ostream* out) {
  *out << mutant.bug;
}

/// All of them.
std::vector<Mutant> allMutants();

}  // namespace rondo::verifier
