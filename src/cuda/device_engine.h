// Carries out one rank's operations on its CUDA device: prepares them, launches their kernels on
// the caller's stream, and has them watched. Numbers of calls and their records are the
// communicator's (src/communicator.cc).
#pragma once

#include <memory>

#include "src/collective_call.h"
#include "src/cuda/device_operation.h"
#include "src/cuda/device_team.h"
#include "src/cuda/device_watch.h"
#include "src/prepared_operation.h"

namespace rondo::cuda {

/// @threads one at a time
class DeviceEngine {
 public:
  /// @param config of the communicator; must outlive this object
  /// @errors OutOfMemory, SystemError.
  static Result<std::unique_ptr<DeviceEngine>> make(int rank,
                                                    int ranks,
                                                    std::shared_ptr<DeviceTeam> team,
                                                    std::shared_ptr<RankGroup> group,
                                                    const Config& config);
  ~DeviceEngine();
  DeviceEngine(const DeviceEngine&) = delete;
  DeviceEngine& operator=(const DeviceEngine&) = delete;
  DeviceEngine(DeviceEngine&&) = delete;
  DeviceEngine& operator=(DeviceEngine&&) = delete;

  /// Whether `call` can be launched on `stream`: buffers are memory of the device, the stream
  /// is one of the device, and, while it is captured into a graph, nothing needs to be prepared.
  /// @errors InvalidArgument, InvalidUsage, NotSupported; nothing was changed.
  Status check(const CollectiveCall& call, const PlanRequest& request, Stream stream) const;

  /// The plan of an operation that was launched before; null: there is none.
  const Plan* plannedBefore(const PlanRequest& request) const;

  /// Launches `call` under `plan`. On return it is queued on `stream`.
  /// @errors those that end the communicator.
  Status run(const CollectiveCall& call,
             const PlanRequest& request,
             const Plan& plan,
             const CallSignature& signature,
             Stream stream);

  /// Waits until all that was launched is complete. If the communicator has failed, or some kernel
  /// does not end in time, what kernels use is left to them.
  void finish(Deadline deadline);

 private:
  DeviceEngine(int rank,
               int ranks,
               std::shared_ptr<DeviceTeam> team,
               std::shared_ptr<RankGroup> group,
               const Config& config);

  Result<DeviceOperation*> prepare(const PlanRequest& request,
                                   const Plan& plan,
                                   const CallSignature& signature);
  Status abandon(const Status& failure);
  bool hasCaptured();
  void retire(std::unique_ptr<DeviceOperation> operation);
  Status checkBuffer(const char* name, const void* buffer) const;
  Status checkStream(Stream stream) const;
  LaunchPart partOf(const DeviceOperation& operation,
                    const CollectiveCall& call,
                    const CallSignature& signature,
                    Stream stream,
                    bool captured) const;
  Result<bool> capturing(Stream stream) const;

  const Device& device() const { return *team_->device(rank_); }

  int rank_;
  int ranks_;
  std::shared_ptr<DeviceTeam> team_;  // that of all ranks of the process
  std::shared_ptr<RankGroup> group_;  // that of the communicator
  DeviceJudge judge_;
  DeviceEnds ends_;
  PreparedCache<DeviceOperation> prepared_;
  std::vector<std::unique_ptr<DeviceOperation>> captured_;  // given up, but graphs replay them
  std::unique_ptr<DeviceWatch> watch_;
};

}  // namespace rondo::cuda
