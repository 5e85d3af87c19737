#include "tests/topology/machines.h"

#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "src/topology/hwloc_topology.h"

namespace rondo::testing {

Topology gridMachine(const Grid& grid) {
  const int perCache = grid.cores * grid.threads;
  const int perNode = grid.caches * perCache;
  const int perPackage = grid.nodes * perNode;
  Topology topology;
  for (int os = 0; os < grid.packages * perPackage; ++os) {
    topology.processors.push_back({.os = os,
                                   .node = os / perNode,
                                   .package = os / perPackage * perPackage,
                                   .l3 = os / perCache * perCache,
                                   .core = os / grid.threads * grid.threads});
  }
  for (int node = 0; node < grid.packages * grid.nodes; ++node)
    topology.nodes.push_back({.os = node, .bytes = std::uint64_t{1} << 30U, .distances = {}});
  return topology;
}

std::string describe(const Grid& grid) {
  return fmt::format("package:{} numa:{} l3:{} core:{} pu:{}", grid.packages, grid.nodes,
                     grid.caches, grid.cores, grid.threads);
}

Topology restrictTo(Topology topology, const ProcessorMask& processors) {
  std::erase_if(topology.processors,
                [&](const Processor& processor) { return !processors.contains(processor.os); });
  return topology;
}

std::string dgxLikeXml() {
  std::ifstream file(RONDO_DGX_LIKE_XML);
  return {std::istreambuf_iterator<char>(file), {}};
}

Topology dgxLikeMachine() {
  Result<Topology> topology = readDescribedTopology(dgxLikeXml());
  EXPECT_TRUE(topology.ok()) << topology.status().message();
  return topology.ok() ? *std::move(topology) : flatTopology(ProcessorMask::range(0, 0));
}

bool hasHwloc() {
  return readDescribedTopology("pu:1").ok();
}

std::vector<std::string> texts(const std::vector<ProcessorMask>& masks) {
  std::vector<std::string> result;
  for (const ProcessorMask& mask : masks)
    result.push_back(mask.text());
  return result;
}

}  // namespace rondo::testing
