#include "tests/gpu_check/copy_timer.h"

namespace rondo::gpucheck {

Result<CopyTimer> CopyTimer::make(const Section& section, std::size_t mostBytes) {
  const Gpu& gpu = section.gpus.all.front();
  Result<GpuStream> stream = GpuStream::create(gpu);
  RONDO_RETURN_IF_ERROR(stream.status());
  Result<RankBuffers> buffers = RankBuffers::allocate(gpu, mostBytes);
  RONDO_RETURN_IF_ERROR(buffers.status());
  return CopyTimer(gpu, section.extent.tiny, *std::move(stream), *std::move(buffers));
}

Result<Timing> CopyTimer::time(std::size_t bytes) {
  const auto known = known_.find(bytes);
  if (known != known_.end()) return known->second;
  const Result<Timing> timing =
      timeStream(*gpu_, stream_, Repetitions::forBytes(bytes, tiny_), [&] {
        return gpu_->check(
            gpu_->extra->copyOnDevice(buffers_.second.address(), buffers_.first.address(), bytes,
                                      stream_.get()),
            "copying on it");
      });
  if (timing.ok()) known_.emplace(bytes, *timing);
  return timing;
}

}  // namespace rondo::gpucheck
