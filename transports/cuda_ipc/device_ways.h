// How the devices of two ranks reach each other, found out by trying: each rank allocates memory,
// and the others open it; devices of one process are asked. All ranks know the outcome for all
// pairs, so they choose alike.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/bootstrap/exchange.h"
#include "src/cuda/device.h"
#include "src/status.h"
#include "transports/cuda_ipc/shared_memory.h"

namespace rondo::cuda {

/// Best first.
enum class Way : std::uint8_t {
  kDirect,  ///< kernels of either use memory of the other's device
  kPinned,  ///< ranks of one process whose devices have no way to each other: memory of the host
  kWire     ///< a connection of the transports between hosts and processes
};

/// One rank, as far as others care.
struct DeviceRank {
  int rank = 0;
  int ranks = 1;
  std::shared_ptr<const Device> device;
  std::string hostIdentity;      ///< equal for ranks whose memory and process ids are of one world
  bool directAllowed = true;     ///< between processes; the same on all ranks
  bool acrossProcesses = false;  ///< others may be in other processes, and each launches alone
  std::string communicator;      ///< its name, for the log
};

class DeviceWays {
 public:
  /// Collective.
  /// @errors OutOfMemory, SystemError, those of `gather`.
  static Result<DeviceWays> findOut(const DeviceRank& self, const GatherBytes& gather);

  /// The same for all ranks of a communicator that are threads by construction, in one of them.
  /// @param selves by rank
  static DeviceWays findOut(std::span<const DeviceRank> selves);

  /// The way between two ranks, in both directions.
  Way between(int one, int other) const;

  bool anyWire() const;

  /// Whether `rank` is in another process, which memory that it has opened must be kept for.
  bool opensFromOutside(int rank) const { return outside_[static_cast<std::size_t>(rank)]; }

 private:
  explicit DeviceWays(int ranks);

  static Result<DeviceWays> tryAll(const DeviceRank& self,
                                   const SharedMemory& probe,
                                   const GatherBytes& gather);

  std::size_t ranks_;
  std::vector<Way> seen_;      // by rank that tried and rank that was tried
  std::vector<bool> outside_;  // by rank
};

}  // namespace rondo::cuda
