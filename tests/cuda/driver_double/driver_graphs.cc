// Graphs of the driver double: what was queued on one stream while it was captured. The library
// calls none of this; programs that use it do.
#include <memory>
#include <utility>
#include <vector>

#include "src/cuda/driver.h"
#include "tests/cuda/driver_double/fake_gpu.h"

namespace rondo::testing {
namespace {

constexpr int kInvalidValue = 1;

FakeStream* streamOf(cuda::Stream stream) {
  return reinterpret_cast<FakeStream*>(stream);
}

}  // namespace
}  // namespace rondo::testing

using rondo::cuda::kSuccess;
using rondo::cuda::Stream;
using rondo::testing::kInvalidValue;
using rondo::testing::streamOf;
using rondo::testing::Work;

extern "C" {

/// Both of the driver's kinds, the one that was captured and the one that can be launched.
struct CUgraph_st {
  std::vector<Work> work;
};

struct CUgraphExec_st {
  std::vector<Work> work;
};

int cuStreamBeginCapture_v2(Stream stream, int /*mode*/) {
  if (stream == nullptr) return kInvalidValue;  // as the driver: not the default stream
  streamOf(stream)->beginCapture();
  return kSuccess;
}

int cuStreamEndCapture(Stream stream, CUgraph_st** graph) {
  if (stream == nullptr || !streamOf(stream)->capturing()) return kInvalidValue;
  *graph = new CUgraph_st{streamOf(stream)->endCapture()};
  return kSuccess;
}

int cuGraphInstantiateWithFlags(CUgraphExec_st** exec,
                                CUgraph_st* graph,
                                unsigned long long /*flags*/) {
  *exec = new CUgraphExec_st{graph->work};
  return kSuccess;
}

int cuGraphLaunch(CUgraphExec_st* exec, Stream stream) {
  if (stream == nullptr) return kInvalidValue;
  for (const Work& work : exec->work)
    streamOf(stream)->queue(work);
  return kSuccess;
}

int cuGraphExecDestroy(CUgraphExec_st* exec) {
  delete exec;
  return kSuccess;
}

int cuGraphDestroy(CUgraph_st* graph) {
  delete graph;
  return kSuccess;
}
}
