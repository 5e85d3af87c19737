// Memory that one rank allocates and others' kernels use: how its owner names it to them, and how
// they come to it. Inside one process it is kept alive by all who use it; between processes its
// owner must keep it until the others have closed it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "src/cuda/device.h"
#include "src/status.h"
#include "transports/cuda_ipc/named_memory.h"

namespace rondo::cuda {

/// Names memory to all ranks. No padding: it travels as bytes.
struct MemoryName {
  std::uint64_t host = 0;     ///< hash of the identity of the owner's host
  std::uint64_t process = 0;  ///< the owner's process, among all that there are
  std::uint64_t bytes = 0;    ///< 0: there is none
  std::uint64_t name = 0;     ///< in NamedMemory, for ranks of the owner's process
  IpcHandle handle{};         ///< for ranks of other processes of its host, if `exported`
  std::uint32_t exported = 0;
  std::int32_t device = 0;  ///< as the driver counts in the owner's process
  DeviceUuid uuid{};
};

static_assert(std::has_unique_object_representations_v<MemoryName>);

/// What MemoryName::host is to be.
std::uint64_t hashOfHost(const std::string& identity);

/// Pages of a device are this large: memory for other processes is given whole ones, since they get
/// all of a page.
inline constexpr std::size_t kDevicePageBytes = std::size_t{2} << 20;

/// The name of `memory` of `device`. That another process cannot use it, as that of the host, is no
/// error here: `exported` says so.
/// @param host hash of the own host's identity
MemoryName nameMemory(const SharedMemory& memory, const Device& device, std::uint64_t host);

/// Whether the memory is this process's.
bool inOwnProcess(const MemoryName& name, std::uint64_t host);

/// Named memory for kernels of `device`. Of another process it is closed with the last reference.
/// @param name of this host
/// @errors SystemError: this device has no way to it.
Result<SharedMemory> openMemory(const MemoryName& name, const Device& device, std::uint64_t host);

/// Never frees it: others may still use it.
void leaveBehind(const SharedMemory& memory);

}  // namespace rondo::cuda
