#include "tests/gpu_check/gpu.h"

#include <array>
#include <thread>

namespace rondo::gpucheck {

namespace {

/// Polling is quick for what ends quickly, and leaves the processor to the ranks after that.
void pauseBetweenLooks(int looks) {
  constexpr int kQuickLooks = 2000;
  if (looks < kQuickLooks) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

Result<Gpu> findGpu(const cuda::Driver& driver, const ExtraDriver& extra, int ordinal) {
  Gpu gpu{.driver = &driver, .extra = &extra, .ordinal = ordinal};
  int device = 0;
  RONDO_RETURN_IF_ERROR(gpu.check(driver.deviceGet(&device, ordinal), "finding it"));
  std::array<char, 256> name{};
  RONDO_RETURN_IF_ERROR(gpu.check(
      driver.deviceGetName(name.data(), static_cast<int>(name.size()), device), "naming it"));
  gpu.name = name.data();
  RONDO_RETURN_IF_ERROR(
      gpu.check(extra.deviceTotalMemory(&gpu.memoryBytes, device), "asking for its memory"));
  return gpu;
}

}  // namespace

Status Gpu::check(int result, std::string_view what) const {
  if (result == cuda::kSuccess) return {};
  return driver->check(result, fmt::format("CUDA device {}: {}", ordinal, what));
}

Result<Gpus> findGpus() {
  const Result<const cuda::Driver*> driver = cuda::systemDriver();
  RONDO_RETURN_IF_ERROR(driver.status());
  static const Result<ExtraDriver> kExtra = loadExtraDriver();
  RONDO_RETURN_IF_ERROR(kExtra.status());
  Gpus gpus;
  int count = 0;
  RONDO_RETURN_IF_ERROR((*driver)->check((*driver)->deviceGetCount(&count), "counting GPUs"));
  RONDO_RETURN_IF_ERROR(
      (*driver)->check(kExtra->driverVersion(&gpus.driverVersion), "asking for its version"));
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    Result<Gpu> gpu = findGpu(**driver, *kExtra, ordinal);
    RONDO_RETURN_IF_ERROR(gpu.status());
    gpus.all.push_back(*std::move(gpu));
  }
  if (gpus.all.empty()) return Status::notSupported("the CUDA driver sees no GPU");
  return gpus;
}

Result<Gpus> openGpus() {
  Result<Gpus> gpus = findGpus();
  RONDO_RETURN_IF_ERROR(gpus.status());
  for (Gpu& gpu : gpus->all) {
    int device = 0;
    RONDO_RETURN_IF_ERROR(gpu.check(gpu.driver->deviceGet(&device, gpu.ordinal), "finding it"));
    // Kept to the end of the program.
    RONDO_RETURN_IF_ERROR(
        gpu.check(gpu.driver->primaryContextRetain(&gpu.context, device), "retaining its context"));
  }
  return gpus;
}

Result<GpuBuffer> GpuBuffer::allocate(const Gpu& gpu, std::size_t bytes) {
  const OnGpu current(gpu);
  GpuBuffer buffer(gpu, bytes);
  RONDO_RETURN_IF_ERROR(gpu.check(gpu.driver->memoryAllocate(&buffer.address_, bytes),
                                  fmt::format("allocating {} bytes", bytes)));
  return buffer;
}

GpuBuffer::~GpuBuffer() {
  if (address_ == 0) return;
  const OnGpu current(*gpu_);
  (void)gpu_->driver->memoryFree(address_);
}

Result<GpuEvent> GpuEvent::create(const Gpu& gpu) {
  const OnGpu current(gpu);
  GpuEvent event(gpu);
  RONDO_RETURN_IF_ERROR(gpu.check(gpu.driver->eventCreate(&event.event_, 0), "making an event"));
  return event;
}

GpuEvent::~GpuEvent() {
  if (event_ != nullptr) (void)gpu_->driver->eventDestroy(event_);
}

Status GpuEvent::record(cuda::Stream stream) {
  return gpu_->check(gpu_->driver->eventRecord(event_, stream), "recording an event");
}

Status GpuEvent::await(Deadline deadline) const {
  for (int looks = 0;; ++looks) {
    const int result = gpu_->driver->eventQuery(event_);
    if (result != cuda::kNotReady) return gpu_->check(result, "waiting for its work");
    if (deadline.passed())
      return Status::timeout("CUDA device {}: its work does not end", gpu_->ordinal);
    pauseBetweenLooks(looks);
  }
}

Result<double> GpuEvent::secondsSince(const GpuEvent& earlier) const {
  constexpr double kMillis = 1e-3;
  float milliseconds = 0;
  RONDO_RETURN_IF_ERROR(
      gpu_->check(gpu_->extra->eventElapsed(&milliseconds, earlier.event_, event_),
                  "asking for the time between events"));
  return static_cast<double>(milliseconds) * kMillis;
}

Result<GpuStream> GpuStream::create(const Gpu& gpu) {
  const OnGpu current(gpu);
  GpuStream stream(gpu);
  RONDO_RETURN_IF_ERROR(gpu.check(
      gpu.driver->streamCreate(&stream.stream_, cuda::kStreamNonBlocking), "making a stream"));
  return stream;
}

GpuStream::~GpuStream() {
  if (stream_ != nullptr) (void)gpu_->driver->streamDestroy(stream_);
}

Status GpuStream::await(Deadline deadline) const {
  Result<GpuEvent> reached = GpuEvent::create(*gpu_);
  RONDO_RETURN_IF_ERROR(reached.status());
  RONDO_RETURN_IF_ERROR(reached->record(stream_));
  return reached->await(deadline);
}

}  // namespace rondo::gpucheck
