// Calls captured into a CUDA graph.
#pragma once

#include <functional>
#include <utility>

#include "tests/gpu_check/gpu.h"

namespace rondo::gpucheck {

/// What a capture forbids meanwhile: other threads and the own one, the own one, nothing.
inline constexpr int kCaptureGlobal = 0;
inline constexpr int kCaptureThreadLocal = 1;
inline constexpr int kCaptureRelaxed = cuda::kCaptureModeRelaxed;

/// @threads one at a time, with its GPU current
class CapturedGraph {
 public:
  /// Captures `call`, made so many times, on `stream`.
  /// @errors those of `call`, SystemError
  static Result<CapturedGraph> capture(const Gpu& gpu,
                                       cuda::Stream stream,
                                       int mode,
                                       int calls,
                                       const std::function<Status()>& call);

  CapturedGraph(CapturedGraph&& other) noexcept
      : gpu_(other.gpu_), exec_(std::exchange(other.exec_, nullptr)) {}

  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;
  CapturedGraph& operator=(CapturedGraph&&) = delete;
  ~CapturedGraph();

  Status launch(cuda::Stream stream) const;

 private:
  explicit CapturedGraph(const Gpu& gpu) : gpu_(&gpu) {}

  const Gpu* gpu_;
  GraphExec exec_ = nullptr;
};

}  // namespace rondo::gpucheck
