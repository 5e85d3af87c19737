// One rank of `rondo run`: a process in a group of its own, whose output comes through pipes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

#include "src/net/file_descriptor.h"
#include "src/processors.h"
#include "src/status.h"

namespace rondo::run {

/// A started process. Whoever has it must reap it.
struct RankProcess {
  pid_t process = 0;  ///< also the number of its group
  FileDescriptor output;
  FileDescriptor errors;
};

/// What to start.
struct RankProgram {
  const std::vector<std::string>& words;  ///< the program, looked for in PATH, and its arguments
  /// Added to this process's environment; an empty value takes the variable out.
  std::map<std::string, std::string> variables;
  ProcessorMask processors;  ///< those it may use; empty: all that this process may
  bool hasInput = false;     ///< whether it reads this process's input; otherwise it has none
};

/// Starts a process that is killed if this one ends. Signals that this process has blocked are not
/// blocked there.
/// @threads of a process that has one thread
/// @errors InvalidArgument (the program cannot be run, with the system's text), SystemError
Result<RankProcess> startRank(const RankProgram& program);

}  // namespace rondo::run
