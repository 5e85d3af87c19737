#include "src/program_memory.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "src/cuda/current_context.h"
#include "src/log.h"
#include "transports/aligned_buffer.h"
#include "transports/allocation_table.h"
#include "transports/shm/arena.h"

namespace rondo {

namespace {

/// Memory that other processes can map.
class SharedBlock final : public MemoryBlock {
 public:
  explicit SharedBlock(shm::Arena arena) : arena_(std::move(arena)) {}

  int file() const override { return arena_.file().get(); }

 private:
  shm::Arena arena_;
};

/// Memory of this process alone.
class PrivateBlock final : public MemoryBlock {
 public:
  explicit PrivateBlock(AlignedBuffer memory) : memory_(std::move(memory)) {}

 private:
  AlignedBuffer memory_;
};

/// Memory of a CUDA device.
class DeviceBlock final : public MemoryBlock {
 public:
  DeviceBlock(const cuda::Driver& driver, int device, cuda::DevicePointer memory)
      : driver_(driver), device_(device), memory_(memory) {}

  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;

  ~DeviceBlock() override {
    const Status freed = cuda::withContextOf(driver_, device_, [&] {
      return driver_.check(driver_.memoryFree(memory_),
                           fmt::format("freeing memory of CUDA device {}", device_));
    });
    if (!freed.ok()) RONDO_LOG(kWarn, kApi, "rondoMemFree: {}", freed.message());
  }

 private:
  const cuda::Driver& driver_;
  int device_;
  cuda::DevicePointer memory_;
};

Result<void*> keep(void* memory, std::size_t bytes, std::unique_ptr<MemoryBlock> block) {
  AllocationTable::ofProcess().add(memory, bytes, std::move(block));
  return memory;
}

Result<shm::Arena> makeSharedMemory(std::size_t bytes) {
  Result<shm::Arena> arena = shm::Arena::create(bytes);
  if (!arena.ok()) return arena;
  RONDO_RETURN_IF_ERROR(arena->reserve(0, bytes));
  return arena;
}

Result<void*> allocateOnHost(std::size_t bytes) {
  Result<shm::Arena> arena = makeSharedMemory(bytes);
  if (arena.ok()) {
    void* const memory = arena->data();
    return keep(memory, bytes, std::make_unique<SharedBlock>(*std::move(arena)));
  }
  if (arena.status().code() == StatusCode::kOutOfMemory) return std::move(arena).status();
  // Sandboxes without memory files: buffers are of use there, too.
  RONDO_LOG(kInfo, kApi, "rondoMemAlloc: other processes cannot map this memory: {}",
            arena.status().message());
  AlignedBuffer buffer(bytes);
  if (buffer.data() == nullptr) return Status::outOfMemory("{} bytes of host memory", bytes);
  std::fill_n(buffer.data(), bytes, std::byte{});
  void* const memory = buffer.data();
  return keep(memory, bytes, std::make_unique<PrivateBlock>(std::move(buffer)));
}

Result<void*> allocateOnDevice(int device, std::size_t bytes) {
  const Result<const cuda::Driver*> driver = cuda::systemDriver();
  RONDO_RETURN_IF_ERROR(driver.status());
  cuda::DevicePointer memory = 0;
  RONDO_RETURN_IF_ERROR(cuda::withContextOf(**driver, device, [&] {
    return (*driver)->check((*driver)->memoryAllocate(&memory, bytes),
                            fmt::format("allocating {} bytes on CUDA device {}", bytes, device));
  }));
  return keep(reinterpret_cast<void*>(memory), bytes,
              std::make_unique<DeviceBlock>(**driver, device, memory));
}

}  // namespace

Result<void*> allocateMemory(std::size_t bytes, std::optional<int> device) {
  if (bytes > static_cast<std::size_t>(PTRDIFF_MAX))
    return Status::outOfMemory("{} bytes: more than there can be", bytes);
  const std::size_t some = std::max<std::size_t>(bytes, 1);
  return device.has_value() ? allocateOnDevice(*device, some) : allocateOnHost(some);
}

Status freeMemory(void* memory) {
  return memory == nullptr ? Status{} : AllocationTable::ofProcess().free(memory);
}

}  // namespace rondo
