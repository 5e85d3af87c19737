// What the ranks of one communicator share that are threads of one process, each on a CUDA device.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "src/cuda/device.h"
#include "src/cuda/meeting.h"
#include "src/cuda/shared_launch.h"
#include "transports/cuda_ipc/process_links.h"

namespace rondo::cuda {

/// @threads any
class DeviceTeam {
 public:
  /// @param ordinals of the ranks' devices, by rank; several ranks may be on one
  /// @errors those of Device::open() and SharedLaunch::make().
  static Result<std::shared_ptr<DeviceTeam>> make(const Driver& driver,
                                                  std::span<const int> ordinals,
                                                  SlotShape slots);

  const std::shared_ptr<const Device>& device(int rank) const {
    return devices_[static_cast<std::size_t>(rank)];
  }

  const std::shared_ptr<ProcessLinks>& links() const { return links_; }

  /// That of the ranks on the device of `rank`.
  SharedLaunch& launches(int rank) { return *launches_.at(device(rank)->ordinal()); }

  /// Where all ranks meet when they have prepared something new: from then on until the operation
  /// is complete none of them calls the driver for memory, which could wait for a kernel that waits
  /// for a rank.
  Meeting& prepared() { return *prepared_; }

  /// "ranks 0 and 1 on CUDA device 0 (NVIDIA H100)", for the log.
  std::string describe() const;

 private:
  std::vector<std::shared_ptr<const Device>> devices_;  // by rank
  std::shared_ptr<ProcessLinks> links_;
  std::map<int, std::unique_ptr<SharedLaunch>> launches_;  // by device
  std::unique_ptr<Meeting> prepared_;
};

}  // namespace rondo::cuda
