#include "tests/gpu_check/captured_graph.h"

namespace rondo::gpucheck {

namespace {

Status makeCalls(int calls, const std::function<Status()>& call) {
  for (int number = 0; number < calls; ++number)
    RONDO_RETURN_IF_ERROR(call());
  return {};
}

}  // namespace

Result<CapturedGraph> CapturedGraph::capture(
    const Gpu& gpu, cuda::Stream stream, int mode, int calls, const std::function<Status()>& call) {
  CapturedGraph captured(gpu);
  Graph graph = nullptr;
  RONDO_RETURN_IF_ERROR(gpu.check(gpu.extra->beginCapture(stream, mode), "beginning a capture"));
  const Status made = makeCalls(calls, call);
  const Status ended = gpu.check(gpu.extra->endCapture(stream, &graph), "ending a capture");
  RONDO_RETURN_IF_ERROR(made);
  RONDO_RETURN_IF_ERROR(ended);
  const Status instantiated =
      gpu.check(gpu.extra->graphInstantiate(&captured.exec_, graph, 0), "instantiating a graph");
  (void)gpu.extra->graphDestroy(graph);
  RONDO_RETURN_IF_ERROR(instantiated);
  return captured;
}

CapturedGraph::~CapturedGraph() {
  if (exec_ != nullptr) (void)gpu_->extra->graphExecDestroy(exec_);
}

Status CapturedGraph::launch(cuda::Stream stream) const {
  return gpu_->check(gpu_->extra->graphLaunch(exec_, stream), "launching a graph");
}

}  // namespace rondo::gpucheck
