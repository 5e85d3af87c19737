// The ranks of one communicator that are threads and share a device: what they launch goes as one
// kernel. As kernels of their own they might not run at the same time, and each waits for the
// others.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/cuda/message_launch.h"
#include "src/cuda/device.h"
#include "src/cuda/meeting.h"
#include "src/status.h"

namespace rondo::cuda {

/// One rank's part of a launch.
struct LaunchPart {
  device::LaunchArgs args;  ///< ranks[0] is that rank's; the rest is the same on all ranks
  DataType type = DataType::kUint8;
  bool coded = false;  ///< the operation is compressed
  Stream stream = nullptr;
  bool captured = false;  ///< the stream is being captured
};

/// @threads one call per rank at a time
class SharedLaunch {
 public:
  /// @param ranks of the communicator that are on `device`, in ascending order
  /// @errors SystemError.
  static Result<std::unique_ptr<SharedLaunch>> make(std::shared_ptr<const Device> device,
                                                    std::vector<int> ranks);
  ~SharedLaunch();
  SharedLaunch(const SharedLaunch&) = delete;
  SharedLaunch& operator=(const SharedLaunch&) = delete;
  SharedLaunch(SharedLaunch&&) = delete;
  SharedLaunch& operator=(SharedLaunch&&) = delete;

  const std::shared_ptr<const Device>& device() const { return device_; }

  const std::vector<int>& ranks() const { return ranks_; }

  int members() const { return static_cast<int>(ranks_.size()); }

  /// Queues `part` of `rank`, with those of the others. It runs after what is on the rank's stream
  /// and after what was launched here before, on whatever stream, and what comes on the stream
  /// later runs after it. Captured launches are ordered by their streams alone.
  /// @param check as Meeting::meet()
  /// @errors SystemError, what `check` gives.
  Status launch(int rank, const LaunchPart& part, const std::function<Status()>& check);

  /// Whether messages of `rank` may go on `stream`: not behind those of another rank that shares
  /// the device, which may wait for them.
  /// @errors InvalidUsage
  Status checkMessageStream(int rank, Stream stream);

  /// Queues a kernel of `rank`'s own that moves messages. Order as for launch(), but beside what
  /// others of the device's ranks launch.
  /// @errors SystemError
  Status launchMessages(int rank, const device::MessageArgs& args, int lanes, Stream stream);

 private:
  /// The messages of one member that were launched last.
  struct MemberMessages {
    Event done = nullptr;
    Stream stream = nullptr;
    bool launched = false;  ///< there are some
    bool recorded = false;  ///< `done` is theirs
  };

  SharedLaunch(std::shared_ptr<const Device> device, std::vector<int> ranks);

  Status makeEvents();
  Status launchAll(std::size_t member, const std::function<Status()>& check);
  Status launchAlone(const LaunchPart& part);
  Status start(const device::LaunchArgs& args, const LaunchPart& part) const;
  Status check(int result) const;
  std::size_t memberOf(int rank) const;
  Status awaitMessages(Stream stream);

  std::shared_ptr<const Device> device_;
  std::vector<int> ranks_;
  Meeting meeting_;
  std::vector<LaunchPart> parts_;  // by member
  std::vector<Event> ready_;       // by member: what its stream held before
  Event done_ = nullptr;           // of the last launch
  std::mutex messagesMutex_;
  std::vector<MemberMessages> messages_;  // by member; guarded by the mutex
};

}  // namespace rondo::cuda
