// The command line of `rondo run`: RunFlags as written, RunOptions as understood.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "src/status.h"
#include "src/topology/pinning.h"

namespace CLI {
class App;
}

namespace rondo::run {

/// Words and numbers of the command line.
struct RunFlags {
  int ranks = 2;
  bool noPrefix = false;
  std::string outputFolder;
  double graceSeconds = 5;
  std::string bind = "none";
  bool verbose = false;
};

/// Declares the flags on `app`, to be stored in `flags`. What follows them is the program.
void addRunFlags(CLI::App& app, RunFlags& flags);

struct RunOptions {
  int ranks = 2;
  std::vector<std::string> words;  ///< the program and its arguments
  bool prefix = true;              ///< "[rank] " before each line
  std::string outputFolder;        ///< a file per rank goes there; empty: none
  /// From asking the ranks to end to making them.
  std::chrono::milliseconds grace{5000};
  Binding binding = Binding::kNone;
  bool verbose = false;  ///< says on stderr where ranks are bound to
};

/// @param words what followed the flags
/// @errors InvalidArgument, naming the flag
Result<RunOptions> understand(const RunFlags& flags, std::vector<std::string> words);

}  // namespace rondo::run
