// What a program of the race is asked to measure: every operation with every type and size.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/data_type.h"
#include "perf/race/harness/work.h"

namespace rondo::race {

struct Options {
  int ranks = 2;  ///< Not read where a launcher decides.
  std::vector<Operation> operations{Operation::kAllReduce};
  std::vector<DataType> types{DataType::kFloat32};
  std::vector<std::size_t> sizes{8};
  bool outOfPlace = true;
  bool inPlace = false;
  /// Seconds per cell for each of the two ways of timing, about.
  double budgetSeconds = 0.1;
  /// After so many seconds the process ends itself.
  unsigned deadlineSeconds = 600;
};

/// Reads "--name value" pairs; a wrong one ends the program with a message.
Options parseOptions(int argc, char** argv);

}  // namespace rondo::race
