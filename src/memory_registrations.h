// The buffers that a program has registered with one communicator, behind handles. A registration
// keeps memory of rondoMemAlloc from being freed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "src/status.h"

namespace rondo {

/// @threads any
class MemoryRegistrations {
 public:
  /// @param holder "rank 0 of communicator world", for whoever frees registered memory
  explicit MemoryRegistrations(std::string holder) : holder_(std::move(holder)) {}

  /// Deregisters what is left.
  ~MemoryRegistrations();
  MemoryRegistrations(const MemoryRegistrations&) = delete;
  MemoryRegistrations& operator=(const MemoryRegistrations&) = delete;

  /// What has changed by a call.
  struct Change {
    std::uint64_t handle = 0;  ///< which no other registration of this process has
    bool real = false;         ///< the first of a handle that was added, the last that was removed
  };

  /// Registers a buffer. The same one again gets the same handle, to be given up as often.
  /// @errors InvalidArgument (no buffer, or it reaches beyond memory that rondoMemAlloc gave)
  Result<Change> add(const void* buffer, std::size_t bytes);

  /// @errors InvalidArgument (never given), InvalidUsage (given up, or of another communicator)
  Result<Change> remove(std::uint64_t handle);

 private:
  struct Registration {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
    std::uint64_t block = 0;  ///< of the AllocationTable; 0: it is other memory
    int times = 0;
  };

  static void release(const Registration& registration);

  const std::string holder_;
  std::mutex mutex_;
  std::map<std::uint64_t, Registration> registrations_;  // by handle
};

}  // namespace rondo
