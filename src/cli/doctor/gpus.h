// CUDA devices and their driver.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/doctor/finding.h"
#include "src/config.h"
#include "src/status.h"

namespace rondo::doctor {

struct GpuFacts {
  Status driver;                           ///< of loading it and counting devices
  std::vector<std::string> names;          ///< by device, as the driver counts
  std::vector<std::pair<int, int>> apart;  ///< devices that cannot use each other's memory
  bool hasKernels = false;                 ///< the library was built with kernels
  bool wanted = false;                     ///< RONDO_DEVICE puts ranks on devices
  std::optional<int> device;               ///< RONDO_DEVICE, if it is a number
};

/// Initialises the driver where there is one, and makes no context.
GpuFacts readGpus(const Config& config);

/// Pure.
Findings examine(const GpuFacts& facts);

}  // namespace rondo::doctor
