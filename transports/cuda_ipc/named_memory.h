// Memory that ranks of this process have given names to, for other ranks of the process: a name
// outlives a rank that fails, a pointer would not.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "src/cuda/device.h"

namespace rondo::cuda {

using SharedMemory = std::shared_ptr<const Memory>;

/// @threads any
class NamedMemory {
 public:
  /// That of the process, since ranks that joined one by one share nothing else.
  static NamedMemory& ofProcess();

  /// Never the same for two memories.
  std::uint64_t add(const SharedMemory& memory);

  /// Null: nobody has it any more.
  SharedMemory find(std::uint64_t name);

 private:
  std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::weak_ptr<const Memory>> memory_;
};

}  // namespace rondo::cuda
