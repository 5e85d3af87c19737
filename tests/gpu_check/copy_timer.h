// Times copies from one buffer of the first GPU to another: what operations are held against. Each
// size is timed once in a section.
#pragma once

#include <cstddef>
#include <map>
#include <utility>

#include "tests/gpu_check/check_call.h"
#include "tests/gpu_check/section.h"
#include "tests/gpu_check/timing.h"

namespace rondo::gpucheck {

/// @threads one at a time
class CopyTimer {
 public:
  /// @param mostBytes of a copy
  /// @errors OutOfMemory, SystemError
  static Result<CopyTimer> make(const Section& section, std::size_t mostBytes);

  Result<Timing> time(std::size_t bytes);

 private:
  CopyTimer(const Gpu& gpu, bool tiny, GpuStream stream, RankBuffers buffers)
      : gpu_(&gpu), tiny_(tiny), stream_(std::move(stream)), buffers_(std::move(buffers)) {}

  const Gpu* gpu_;
  bool tiny_;
  GpuStream stream_;
  RankBuffers buffers_;
  std::map<std::size_t, Timing> known_;
};

}  // namespace rondo::gpucheck
