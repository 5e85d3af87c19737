// A planned operation with everything its kernels need to run again and again, in device memory:
// the device's twin of src/prepared_operation.h.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/arithmetic.h"
#include "kernels/cuda/launch.h"
#include "src/cuda/device.h"
#include "src/planner.h"
#include "transports/cuda_ipc/process_links.h"

namespace rondo::cuda {

/// The connection ends of one rank in its device's memory, made when an operation first needs them
/// and kept for the communicator's life: their positions go on from operation to operation.
/// @threads one at a time.
class DeviceEnds {
 public:
  DeviceEnds(int rank, std::shared_ptr<const Device> device, std::shared_ptr<ProcessLinks> links)
      : rank_(rank), device_(std::move(device)), links_(std::move(links)) {}

  /// For kernels of the rank; valid as long as this object.
  /// @errors OutOfMemory, SystemError.
  Result<device::End*> sendEnd(int peer, int channel);
  Result<device::End*> recvEnd(int peer, int channel);

  void leaveBehind();

 private:
  using Key = std::pair<int, int>;  // peer, channel
  using Ends = std::map<Key, Memory>;

  Result<device::End*> keep(Ends& ends, Key key, const Result<device::End>& end);

  int rank_;
  std::shared_ptr<const Device> device_;
  std::shared_ptr<ProcessLinks> links_;
  Ends sends_;
  Ends recvs_;
};

struct DeviceOperation {
  PlanRequest request;
  Plan plan;
  StepArithmetic arithmetic;
  bool captured = false;       ///< some graph holds a launch of it
  Memory lanes;                ///< a device::Lane per channel
  Memory reports;              ///< a device::Report per channel, on the host
  std::vector<Memory> tables;  ///< what the lanes point to

  /// See Memory::leaveBehind().
  void leaveBehind();
};

/// The one that was asked for if the operation can use it; else lines where those are faster, which
/// is for small data. The same on all ranks that ask for the same.
device::Protocol chooseProtocol(const PlanRequest& request,
                                int ranks,
                                std::optional<device::Protocol> forced);

/// Whether a device runs all blocks of `sharing` ranks' launches under `plan` at the same time.
/// @errors NotSupported
Status checkResidency(const Plan& plan, int sharing, const Device& device);

/// Puts `plan` of `request` into the memory of `rank`'s device.
/// @errors NotSupported (more peers in a step than a block can serve; nothing was changed),
///   OutOfMemory, SystemError.
Result<DeviceOperation> bindOperation(const PlanRequest& request,
                                      const Plan& plan,
                                      int ranks,
                                      int rank,
                                      const Device& device,
                                      DeviceEnds& ends);

}  // namespace rondo::cuda
