// All memory that the driver double knows of in this process: what was allocated on GPUs and
// pinned, memory of the host that was registered, and what other processes have shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "src/cuda/driver.h"
#include "tests/cuda/driver_double/shared_arena.h"

namespace rondo::testing {

/// What the double writes into an IpcHandle.
struct HandleContents {
  /// Nothing if these bytes are no handle of the double's.
  static std::optional<HandleContents> of(const cuda::IpcHandle& handle);

  cuda::IpcHandle handle() const;

  std::uint64_t magic;
  SharedRange range;
  cuda::DeviceUuid device;
  std::uint64_t unused;
};

static_assert(sizeof(HandleContents) == sizeof(cuda::IpcHandle));

/// Addresses are those of the process; every result is the driver's. Where the driver's description
/// leaves open what happens, or drivers differ, it fails here, so that nothing relies on it:
/// - a context opens a handle once, and closes what it has opened itself;
/// - registered ranges have no page in common, nor with pinned memory;
/// - only contexts that registered memory, or all if it is portable, have a device pointer to it;
/// - memory that another process has open is not freed: that ends the process.
/// @threads any
class FakeMemory {
 public:
  /// What is known of an address.
  struct Place {
    int device = 0;
    bool onHost = false;
  };

  /// Outputs are written on success only.
  int allocate(void** memory, std::size_t bytes, int device);
  int free(void* memory);

  int allocateOnHost(void** memory, std::size_t bytes, int device);
  int freeOnHost(void* memory);

  int registerHost(void* memory, std::size_t bytes, unsigned flags, int device);
  int unregisterHost(void* memory);
  /// Whether `device` has pinned or registered memory of the host at that address.
  bool mappedFor(std::uintptr_t address, int device);

  /// @param device  the name of the device that the memory is on
  int share(cuda::IpcHandle* handle, void* memory, const cuda::DeviceUuid& device);
  /// @param home     the device that the memory is on, as cuPointerGetAttribute shall tell
  /// @param context  whose device opens it
  int open(void** memory, const SharedRange& range, int home, int context);
  int close(void* memory, int context);

  std::optional<Place> find(std::uintptr_t address);

  /// Allocations, registrations and memory of others that are alive.
  int objects();

 private:
  enum class Kind { kAllocated, kOpened, kPinned, kRegistered };

  struct Block {
    bool onHost() const;
    /// Whether it is that memory of another process.
    bool holds(const SharedRange& range) const;

    Kind kind;
    std::size_t bytes;
    int device;
    int context = -1;          // kOpened: whose device opened it
    int openings = 1;          // kOpened: how many times
    unsigned flags = 0;        // kRegistered
    SharedMemory shared = {};  // kAllocated, kOpened
    Mapping pinned = {};       // kPinned
  };

  using Blocks = std::map<std::uintptr_t, Block>;

  /// The block of that kind that begins at an address.
  Blocks::iterator block(void* memory, Kind kind);
  /// The block that an address is in.
  Blocks::iterator around(std::uintptr_t address);
  /// A block that is on a page of that range.
  Blocks::iterator onPagesOf(std::uintptr_t address, std::size_t bytes);
  std::vector<std::shared_ptr<const ArenaFile>> openedFiles() const;

  std::mutex mutex_;
  SharedArena arena_;
  Blocks blocks_;
};

}  // namespace rondo::testing
