// What a run that did not end tells the reader of a failed test.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/cuda/emulator/machine.h"
#include "tests/cuda/emulator/scheduler.h"

namespace rondo::emulator {

/// Memory that has a name.
struct NamedMemory {
  const std::byte* begin = nullptr;
  std::size_t bytes = 0;
  std::string name;
};

/// Why the run ended, how to repeat it, and what every thread that had not ended was doing: threads
/// of a block that do the same share a line, and there is a limit to the lines.
std::string reportOf(const Scheduler& scheduler,
                     Verdict verdict,
                     const Options& options,
                     const std::vector<NamedMemory>& memory);

}  // namespace rondo::emulator
