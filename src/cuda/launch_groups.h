// Which ranks of one communicator that are threads launch together: those on one device.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/cuda/shared_launch.h"

namespace rondo::cuda {

/// By rank; ranks on one device have the same.
using LaunchGroups = std::vector<std::shared_ptr<SharedLaunch>>;

/// Opens the devices.
/// @param ordinals of the ranks' devices, by rank, as the driver counts
/// @errors those of Device::open() and SharedLaunch::make().
Result<LaunchGroups> makeLaunchGroups(const Driver& driver, std::span<const int> ordinals);

/// "ranks 0 and 1 on CUDA device 0 (NVIDIA H100)", for the log.
std::string describeLaunchGroups(const LaunchGroups& groups);

}  // namespace rondo::cuda
