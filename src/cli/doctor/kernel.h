// What the kernel, or the sandbox around this process, allows. Rondo needs no ptrace and no access
// to other processes' memory, so what Yama says does not matter.
#pragma once

#include <string>

#include "src/cli/doctor/finding.h"

namespace rondo::doctor {

struct KernelFacts {
  std::string release;      ///< "6.1.0-18-amd64"
  bool membarrier = false;  ///< GLOBAL_EXPEDITED, as sleeping ranks use it
  bool pidfd = false;       ///< of another process
};

KernelFacts readKernel();

/// Pure.
Findings examine(const KernelFacts& facts);

}  // namespace rondo::doctor
