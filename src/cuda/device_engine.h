// Carries out one rank's operations on its CUDA device: prepares them, launches their kernels on
// the caller's stream, and has them watched. Numbers of calls and their records are the
// communicator's (src/communicator.cc).
#pragma once

#include <memory>

#include "src/collective_call.h"
#include "src/cuda/device_messages.h"
#include "src/cuda/device_operation.h"
#include "src/cuda/device_watch.h"
#include "src/cuda/message_tables.h"
#include "src/cuda/pump.h"
#include "src/cuda/shared_launch.h"
#include "src/prepared_operation.h"

namespace rondo::cuda {

/// @threads one at a time
class DeviceEngine {
 public:
  /// @param launches those of the ranks that share the device and the process with this one
  /// @param slots    of connections
  /// @param config   of the communicator; must outlive this object
  /// @errors OutOfMemory, SystemError.
  static Result<std::unique_ptr<DeviceEngine>> make(const DeviceRank& self,
                                                    std::shared_ptr<SharedLaunch> launches,
                                                    std::shared_ptr<RankGroup> group,
                                                    SlotShape slots,
                                                    const Config& config);
  ~DeviceEngine();
  DeviceEngine(const DeviceEngine&) = delete;
  DeviceEngine& operator=(const DeviceEngine&) = delete;
  DeviceEngine(DeviceEngine&&) = delete;
  DeviceEngine& operator=(DeviceEngine&&) = delete;

  /// How ranks reach each other's devices.
  DeviceLinks& links() { return links_; }

  const DeviceLinks& links() const { return links_; }

  /// Whether `call` can be launched on `stream`: buffers are memory of the device, the stream
  /// is one of the device, and, while it is captured into a graph, nothing needs to be prepared.
  /// @errors InvalidArgument, InvalidUsage, NotSupported; nothing was changed.
  Status check(const CollectiveCall& call, const PlanRequest& request, Stream stream) const;

  /// Whether `buffer` is memory of this device.
  /// @param name of the argument, for the message
  /// @errors InvalidArgument
  Status checkBuffer(const char* name, const void* buffer) const;

  /// Whether the device can run `plan`. Pure.
  /// @errors NotSupported
  Status checkPlan(const PlanRequest& request, const Plan& plan) const;

  /// Copies bytes of the device's memory to `to`, after what is on `stream`. Waits for that.
  /// @errors InvalidArgument (other memory), InvalidUsage (the stream is being captured),
  ///   SystemError (what the driver says)
  Status read(const void* from, std::span<std::byte> to, Stream stream) const;

  /// The operation of `call`, with that request, if it was prepared before; null: there is none.
  DeviceOperation* prepared(const CollectiveCall& call, const PlanRequest& request) const {
    DeviceOperation* const operation = prepared_.find(request);
    return operation != nullptr && operation->fits(call) ? operation : nullptr;
  }

  /// Makes everything that launches of `call`, with that request, under `plan` need. Collective:
  /// returns when all ranks are that far. Waits for what was launched before.
  /// @param gather an all-gather among the host's memories of the ranks
  /// @errors those that end the communicator.
  Result<DeviceOperation*> prepare(const CollectiveCall& call,
                                   const PlanRequest& request,
                                   const Plan& plan,
                                   const GatherBytes& gather);

  /// Launches `call`. On return it is queued on `stream`.
  /// @param operation a prepared one
  /// @errors those that end the communicator.
  Status run(const CollectiveCall& call,
             DeviceOperation& operation,
             const CallSignature& signature,
             Stream stream);

  /// Has launches of `operation` use `residuals`, in memory of this device. None may be running.
  /// @errors SystemError
  Status placeResiduals(const host::Residuals& residuals, DeviceOperation& operation);

  /// Waits until what was launched is complete; if that fails, until it has given up.
  /// @param operation a compressed one, which was launched last
  /// @return what its last call came to
  /// @errors the failure of the communicator
  Result<rondoCompressionReport_t> awaitReport(const DeviceOperation& operation);

  /// The same as check() for messages that are launched together.
  Status checkMessages(std::span<const MessageCall> calls, Stream stream) const;

  /// Makes what messages with those of `peers` need that there have been none with. Returns when
  /// these ranks do the same. Waits for what was launched before.
  /// @errors those that end the communicator.
  Status prepareMessages(std::span<const int> peers, const SwapBytes& swap);

  /// Those of `peers` for which prepareMessages() has something to do.
  std::vector<int> strangers(std::span<const int> peers) const;

  /// Launches messages. On return they are queued on `stream`.
  /// @param list with ranks that prepareMessages() was called for
  /// @errors those that end the communicator.
  Status runMessages(MessageList list, Stream stream);

  /// Waits until what was launched, or may be replayed, is complete, so that ranks can talk by the
  /// host's memory.
  /// @return what keeps the transports free for that
  /// @errors the failure of the communicator
  Result<std::unique_ptr<Pump::Halt>> settle();

  /// The device, and the ranks that share it and launch together.
  const std::shared_ptr<SharedLaunch>& launches() const { return launches_; }

  /// Waits until all that was launched is complete. If the communicator has failed, or some kernel
  /// does not end in time, what kernels use is left to them.
  void finish(Deadline deadline);

  const Device& device() const { return *launches_->device(); }

 private:
  DeviceEngine(const DeviceRank& self,
               std::shared_ptr<SharedLaunch> launches,
               std::shared_ptr<RankGroup> group,
               SlotShape slots,
               const Config& config);

  Status endIfBlocking(const DeviceOperation& operation, const CallSignature& signature);
  Status endMessagesIfBlocking();
  Result<MessageTables*> takeTables(std::size_t bytes);
  Status abandon(const Status& failure);
  bool hasCaptured();
  void awaitReplays();
  void leaveBehind();
  bool closedByOthers(Deadline deadline);
  void retire(std::unique_ptr<DeviceOperation> operation);
  Status checkStream(Stream stream) const;
  LaunchPart partOf(const DeviceOperation& operation,
                    const CollectiveCall& call,
                    const CallSignature& signature,
                    Stream stream,
                    bool captured) const;
  Result<bool> capturing(Stream stream) const;

  int rank_;
  int ranks_;
  std::size_t slotBytes_;
  bool acrossProcesses_;
  bool launchesBlock_;
  std::shared_ptr<SharedLaunch> launches_;
  std::shared_ptr<RankGroup> group_;  // that of the communicator
  DeviceLinks links_;
  Pump pump_;
  DeviceJudge judge_;
  MessageJudge messageJudge_;
  DeviceEnds ends_;
  MessageTablePool messageTables_;
  std::uint64_t messageLaunches_ = 0;  // so far
  PreparedCache<DeviceOperation> prepared_;
  std::vector<std::unique_ptr<DeviceOperation>> captured_;  // given up, but graphs replay them
  std::unique_ptr<DeviceWatch> watch_;
};

}  // namespace rondo::cuda
