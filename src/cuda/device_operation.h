// A planned operation with everything its kernels need to run again and again, in device memory:
// the device's twin of src/prepared_operation.h.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/arithmetic.h"
#include "kernels/cuda/coded_launch.h"
#include "kernels/cuda/launch.h"
#include "src/collective_call.h"
#include "src/cuda/device.h"
#include "src/planner.h"
#include "transports/cuda_ipc/device_links.h"

namespace rondo::cuda {

/// The connection ends of one rank in its device's memory, made when an operation first needs them
/// and kept for the communicator's life: their positions go on from operation to operation.
/// @threads one at a time.
class DeviceEnds {
 public:
  /// @param links must outlive this object
  DeviceEnds(std::shared_ptr<const Device> device, const DeviceLinks& links)
      : device_(std::move(device)), links_(links) {}

  /// For kernels of the rank; valid as long as this object. Only of what is connected.
  /// @errors OutOfMemory, SystemError.
  Result<device::End*> find(const EndName& name);

  void leaveBehind();

 private:
  std::shared_ptr<const Device> device_;
  const DeviceLinks& links_;
  std::map<EndName, Memory> ends_;
};

struct DeviceOperation {
  PlanRequest request;
  Plan plan;
  StepArithmetic arithmetic;
  bool captured = false;                ///< some graph holds a launch of it
  Memory lanes;                         ///< a device::Lane per channel
  Memory reports;                       ///< a device::Report per channel, on the host
  std::vector<Memory> tables;           ///< what the lanes point to
  std::vector<device::Lane> laneTable;  ///< what `lanes` holds
  // Compressed only:
  std::vector<std::size_t> tensors;           ///< as passed
  std::vector<device::CodedLane> codedLanes;  ///< by channel
  Memory codedTable;                          ///< what holds them on the device
  std::vector<std::size_t> firstResults;      ///< by channel: elements that those before it add up
  std::size_t codedResults = 0;               ///< elements that all of them add up and encode
  Memory verdicts;               ///< a word per channel, on the host: CodedLane::nonFinite
  std::uint64_t wireBytes = 0;   ///< that this rank sends in one call
  std::uint64_t plainBytes = 0;  ///< the same elements as they are
  // Blocks of different sizes only:
  Memory blocks;                         ///< their counts and offsets, as kernels find them
  std::vector<std::size_t> blockValues;  ///< what was put there last

  /// Whether it is that of `call`, if their requests are equal.
  bool fits(const CollectiveCall& call) const;

  bool isCoded() const { return !codedLanes.empty(); }

  bool hasFeedback() const { return request.coded.has_value() && request.coded->feedback; }

  /// Compressed: whether a result of the call that has just ended was infinite or NaN.
  bool nonFinite() const;

  /// See Memory::leaveBehind().
  void leaveBehind();
};

/// The one that was asked for if the operation and the connections can use it; else lines where
/// those are possible and faster, which is for small data. The same on all ranks that ask for the
/// same.
device::Protocol chooseProtocol(const PlanRequest& request,
                                int ranks,
                                bool carriesLines,
                                std::optional<device::Protocol> forced);

/// All connection ends that `rank` needs for `plan`.
std::vector<EndName> endsOf(const PlanRequest& request, const Plan& plan, int ranks, int rank);

/// Whether a block can serve all peers of a step.
/// @errors NotSupported
Status checkPeers(const PlanRequest& request, const Plan& plan, int ranks, int rank);

/// Whether a device runs all blocks of `sharing` ranks' launches under `plan` at the same time.
/// @errors NotSupported
Status checkResidency(const Plan& plan, int sharing, const Device& device);

/// Counts and offsets of a call whose blocks are of different sizes, as
/// DeviceOperation::blockValues.
std::vector<std::size_t> blockValuesOf(const CollectiveCall& call, int ranks);

/// Has `operation` carry out a call with the blocks of `call`. It must not be running.
/// @errors SystemError
Status putBlocks(const CollectiveCall& call,
                 int ranks,
                 const Device& device,
                 DeviceOperation& operation);

/// Puts `plan` of `request` into the memory of `rank`'s device; blocks of different sizes come
/// with each call (putBlocks()).
/// @errors OutOfMemory, SystemError.
Result<DeviceOperation> bindOperation(const PlanRequest& request,
                                      const Plan& plan,
                                      int ranks,
                                      int rank,
                                      const Device& device,
                                      DeviceEnds& ends);

}  // namespace rondo::cuda
