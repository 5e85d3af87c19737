// The GPUs of this machine and what the check holds on them: memory, streams, events. Every wait
// has a deadline, as a kernel that never ends is one of the things that are looked for.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "src/cuda/driver.h"
#include "src/net/deadline.h"
#include "src/status.h"
#include "tests/gpu_check/extra_driver.h"

namespace rondo::gpucheck {

/// One GPU, and both tables of functions to use it with. Copied freely; owns nothing.
struct Gpu {
  const cuda::Driver* driver = nullptr;
  const ExtraDriver* extra = nullptr;
  int ordinal = 0;
  std::string name{};
  std::size_t memoryBytes = 0;
  cuda::Context context = nullptr;

  /// Names what was tried and the GPU.
  Status check(int result, std::string_view what) const;
};

/// All GPUs of this machine; at least one.
struct Gpus {
  std::vector<Gpu> all;
  int driverVersion = 0;  ///< as the driver tells it: 13000

  /// Ranks are dealt out one by one, so that with one GPU all share it.
  const Gpu& ofRank(int rank) const { return all[static_cast<std::size_t>(rank) % all.size()]; }

  /// The driver double of the tests runs in place of a GPU's.
  bool emulated() const { return all.front().name == "emulated"; }
};

/// Without their contexts: nothing is held on them.
/// @errors those of cuda::systemDriver(), SystemError
Result<Gpus> findGpus();

/// The same, to be used.
Result<Gpus> openGpus();

/// Makes a GPU current in the calling thread.
class OnGpu {
 public:
  explicit OnGpu(const Gpu& gpu) : gpu_(gpu) { (void)gpu_.driver->contextPush(gpu_.context); }

  ~OnGpu() {
    cuda::Context context = nullptr;
    (void)gpu_.driver->contextPop(&context);
  }

  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;
  OnGpu(OnGpu&&) = delete;
  OnGpu& operator=(OnGpu&&) = delete;

 private:
  const Gpu& gpu_;
};

/// Memory of a GPU.
/// @threads one at a time
class GpuBuffer {
 public:
  /// @errors OutOfMemory, SystemError
  static Result<GpuBuffer> allocate(const Gpu& gpu, std::size_t bytes);

  GpuBuffer(GpuBuffer&& other) noexcept
      : gpu_(other.gpu_), bytes_(other.bytes_), address_(std::exchange(other.address_, 0)) {}

  GpuBuffer(const GpuBuffer&) = delete;
  GpuBuffer& operator=(const GpuBuffer&) = delete;
  GpuBuffer& operator=(GpuBuffer&&) = delete;
  ~GpuBuffer();

  cuda::DevicePointer address() const { return address_; }

  /// What the C interface takes.
  std::byte* at(std::size_t offset) const {
    return reinterpret_cast<std::byte*>(address_ + offset);
  }

  std::size_t bytes() const { return bytes_; }

 private:
  GpuBuffer(const Gpu& gpu, std::size_t bytes) : gpu_(&gpu), bytes_(bytes) {}

  const Gpu* gpu_;
  std::size_t bytes_;
  cuda::DevicePointer address_ = 0;
};

/// A moment on a stream, with its time.
/// @threads one at a time, with its GPU current
class GpuEvent {
 public:
  /// @errors SystemError
  static Result<GpuEvent> create(const Gpu& gpu);

  GpuEvent(GpuEvent&& other) noexcept
      : gpu_(other.gpu_), event_(std::exchange(other.event_, nullptr)) {}

  GpuEvent(const GpuEvent&) = delete;
  GpuEvent& operator=(const GpuEvent&) = delete;
  GpuEvent& operator=(GpuEvent&&) = delete;
  ~GpuEvent();

  Status record(cuda::Stream stream);

  /// @errors Timeout, SystemError
  Status await(Deadline deadline) const;

  /// Between two events that are both complete.
  Result<double> secondsSince(const GpuEvent& earlier) const;

 private:
  explicit GpuEvent(const Gpu& gpu) : gpu_(&gpu) {}

  const Gpu* gpu_;
  cuda::Event event_ = nullptr;
};

/// A stream that does not wait for the default one.
/// @threads one at a time, with its GPU current
class GpuStream {
 public:
  /// @errors SystemError
  static Result<GpuStream> create(const Gpu& gpu);

  GpuStream(GpuStream&& other) noexcept
      : gpu_(other.gpu_), stream_(std::exchange(other.stream_, nullptr)) {}

  GpuStream(const GpuStream&) = delete;
  GpuStream& operator=(const GpuStream&) = delete;
  GpuStream& operator=(GpuStream&&) = delete;
  ~GpuStream();

  cuda::Stream get() const { return stream_; }

  /// Until all that was queued is done.
  /// @errors Timeout, SystemError
  Status await(Deadline deadline) const;

 private:
  explicit GpuStream(const Gpu& gpu) : gpu_(&gpu) {}

  const Gpu* gpu_;
  cuda::Stream stream_ = nullptr;
};

}  // namespace rondo::gpucheck
