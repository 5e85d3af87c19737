#include "src/nccl/memory.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

#include "rondo/nccl/nccl.h"
#include "src/cuda/driver.h"
#include "src/nccl/placement.h"

namespace rondo::nccl {

namespace {

constexpr std::size_t kAlignment = NCCL_WIN_REQUIRED_ALIGNMENT;

Result<void*> allocateOnHost(std::size_t bytes) {
  void* memory = nullptr;
  if (bytes <= std::numeric_limits<std::size_t>::max() - kAlignment) {
    const std::size_t pages = std::max<std::size_t>(1, (bytes + kAlignment - 1) / kAlignment);
    memory = std::aligned_alloc(kAlignment, pages * kAlignment);
  }
  if (memory == nullptr) return Status::outOfMemory("{} bytes of the host's memory", bytes);
  return memory;
}

Result<void*> allocateOnDevice(int device, std::size_t bytes) {
  const Result<const cuda::Driver*> driver = cuda::systemDriver();
  RONDO_RETURN_IF_ERROR(driver.status());
  cuda::DevicePointer memory = 0;
  RONDO_RETURN_IF_ERROR(withContextOf(**driver, device, [&] {
    return (*driver)->check((*driver)->memoryAllocate(&memory, std::max<std::size_t>(1, bytes)),
                            fmt::format("allocating {} bytes on CUDA device {}", bytes, device));
  }));
  return reinterpret_cast<void*>(memory);
}

/// The device on which `memory` is; empty: it is the host's.
std::optional<int> deviceOf(const cuda::Driver& driver, cuda::DevicePointer memory) {
  unsigned kind = 0;
  int device = 0;
  const bool onDevice =
      driver.pointerAttribute(&kind, cuda::kPointerMemoryType, memory) == cuda::kSuccess &&
      kind == cuda::kMemoryTypeDevice &&
      driver.pointerAttribute(&device, cuda::kPointerDeviceOrdinal, memory) == cuda::kSuccess;
  return onDevice ? std::optional(device) : std::nullopt;
}

}  // namespace

Result<void*> allocateMemory(std::size_t bytes) {
  const Result<std::optional<int>> device = chosenDevice();
  RONDO_RETURN_IF_ERROR(device.status());
  return device->has_value() ? allocateOnDevice(**device, bytes) : allocateOnHost(bytes);
}

Status freeMemory(void* memory) {
  const Result<const cuda::Driver*> driver = cuda::systemDriver();
  const auto address = reinterpret_cast<cuda::DevicePointer>(memory);
  const std::optional<int> device = driver.ok() ? deviceOf(**driver, address) : std::nullopt;
  if (!device) {
    std::free(memory);
    return {};
  }
  return withContextOf(**driver, *device, [&] {
    return (*driver)->check((*driver)->memoryFree(address),
                            fmt::format("freeing memory of CUDA device {}", *device));
  });
}

}  // namespace rondo::nccl
