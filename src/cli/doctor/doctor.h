// `rondo doctor`: says what this machine offers Rondo, and what limits it.
#pragma once

#include <optional>
#include <string>

#include "src/status.h"

namespace CLI {
class App;
}

namespace rondo::doctor {

/// Words and numbers of the command line.
struct DoctorFlags {
  std::optional<int> ranks;  ///< to measure; none: usualRanks()
  bool json = false;
  std::string resultFile;  ///< not empty: this process is one of the ranks that measure
};

/// Declares the flags on `app`, to be stored in `flags`.
void addDoctorFlags(CLI::App& app, DoctorFlags& flags);

/// Looks, measures, and prints to stdout.
/// @return whether there is no problem
/// @errors InvalidArgument (a flag); as a rank that measures, those of the library
/// @threads of a process that has one thread
Result<bool> runDoctor(const DoctorFlags& flags);

}  // namespace rondo::doctor
