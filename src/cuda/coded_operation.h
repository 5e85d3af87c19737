// A compressed operation in device memory: the device's twin of prepareCodedOperation() of
// src/prepared_operation.h.
#pragma once

#include "kernels/host/lane.h"
#include "src/collective_call.h"
#include "src/cuda/device_operation.h"

namespace rondo::cuda {

/// bindOperation() for a call with a compression, by a plan whose chunks are in blocks.
/// @errors OutOfMemory, SystemError.
Result<DeviceOperation> bindCodedOperation(const CollectiveCall& call,
                                           const PlanRequest& request,
                                           const Plan& plan,
                                           int ranks,
                                           int rank,
                                           const Device& device,
                                           DeviceEnds& ends);

/// Has `operation`, which must not be running, use `residuals`, in memory of the device.
/// @errors SystemError
Status placeResiduals(const host::Residuals& residuals,
                      const Device& device,
                      DeviceOperation& operation);

}  // namespace rondo::cuda
