// Watches over what a rank has launched: a kernel cannot tell why it waits, so a thread of the host
// looks at its reports and at the other ranks, has it give up when the communicator has failed, and
// notes which calls are complete. It sleeps while nothing is launched.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "src/cuda/device_judge.h"
#include "src/cuda/device_messages.h"
#include "src/cuda/device_operation.h"
#include "src/net/deadline.h"

namespace rondo::cuda {

class DeviceWatch {
 public:
  /// @param abortFlag of the rank's launches (device::RankWork), a word of pinned host memory
  /// @errors OutOfMemory, SystemError
  static Result<std::unique_ptr<DeviceWatch>> start(int rank,
                                                    std::shared_ptr<const Device> device,
                                                    std::shared_ptr<RankGroup> group,
                                                    const DeviceJudge& judge,
                                                    const MessageJudge& messageJudge);
  ~DeviceWatch();
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;
  DeviceWatch(DeviceWatch&&) = delete;
  DeviceWatch& operator=(DeviceWatch&&) = delete;

  /// For kernels: what device::RankWork::abortFlag is to be.
  const std::uint32_t* abortFlag() const { return abortFlag_.onDevice<std::uint32_t>(); }

  /// `operation` is about to be launched as `call`; launching may already wait for it to end. It
  /// must live until it is complete.
  /// @threads one at a time
  void begin(const CallSignature& call, const DeviceOperation& operation);

  /// The same for messages.
  void begin(std::unique_ptr<const DeviceMessages> messages);

  /// What was begun last is on `stream`.
  /// @errors SystemError: nobody can tell when it is complete
  Status launched(Stream stream);

  /// What was begun last was not launched.
  void cancel();

  /// What kernels of `operation`, launched as `call`, have failed by so far.
  Status failureOf(const DeviceOperation& operation, const CallSignature& call);

  /// Waits until all that was launched is complete, or has given up.
  /// @return false if some kernel still runs when `deadline` has passed, or may run
  bool flush(Deadline deadline);

  /// Waits until all that was launched is complete, however long that takes.
  /// @errors the failure of the communicator
  Status settle();

  /// `operation` was captured into a graph: from now on, whenever that is replayed, its kernels are
  /// told of failures, and what they report is a failure. It must live as long as this object runs.
  void addCaptured(const DeviceOperation& operation);

  /// Whether kernels of this rank run, or may run by themselves. @threads any
  bool busy();

  /// Has all kernels of this rank give up.
  void giveUp();

  /// Leaves what kernels use to them.
  void leaveBehind() { abortFlag_.leaveBehind(); }

 private:
  struct Launched {
    DeviceJudge::JudgedWait wait;
    const DeviceOperation* operation = nullptr;  ///< null: messages
    MessageJudge::JudgedWait messageWait{};
    std::unique_ptr<const DeviceMessages> messages{};
    bool cancelled = false;
    Event done = nullptr;  ///< null: it is still being launched
  };

  DeviceWatch(int rank,
              std::shared_ptr<const Device> device,
              std::shared_ptr<RankGroup> group,
              const DeviceJudge& judge,
              const MessageJudge& messageJudge);

  void run();
  bool lookAtFirst();
  void lookAtCaptured(const std::vector<const DeviceOperation*>& captured);
  void finishFirst(const Launched& first);
  void finishMessages(const DeviceMessages& messages);
  bool failedBy(const DeviceOperation& operation, const CallSignature& call);
  void judgeFirst(Launched& first);
  Status judgeOperation(Launched& first) const;
  host::Blocked blockedOn(const Launched& launched) const;
  Result<Event> takeEvent();

  int rank_;
  std::shared_ptr<const Device> device_;
  std::shared_ptr<RankGroup> group_;  // that of the communicator
  const DeviceJudge& judge_;
  const MessageJudge& messageJudge_;
  Memory abortFlag_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Launched> launched_;  // in order; only the thread takes away
  std::vector<Event> idleEvents_;
  std::vector<const DeviceOperation*> captured_;
  bool hurried_ = false;  // somebody waits for the end of what is launched
  bool lost_ = false;     // the driver could not say whether a launch is complete
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace rondo::cuda
