// Machines for tests that this one is not.
#pragma once

#include <string>
#include <vector>

#include "src/topology/topology.h"

namespace rondo::testing {

/// How many of each there are in one of the level above.
struct Grid {
  int packages = 1;
  int nodes = 1;
  int caches = 1;
  int cores = 1;
  int threads = 1;
};

/// A machine with equal groups; processors are numbered through, threads of a core in a row.
Topology gridMachine(const Grid& grid);

/// The same in hwloc's synthetic form.
std::string describe(const Grid& grid);

/// `topology` for a process that may use `processors` only.
Topology restrictTo(Topology topology, const ProcessorMask& processors);

/// dgx_like.xml: two packages of eight cores, each a node with two root complexes; below each of
/// those a switch with two GPUs and two network cards, ibN with RDMA device mlx5_N. The graphics of
/// a management controller is no GPU.
std::string dgxLikeXml();

/// What hwloc makes of that; fails the test if it cannot read it.
Topology dgxLikeMachine();

/// True if this build has hwloc and finds it at run time.
bool hasHwloc();

/// The texts of masks, for comparing with what is expected.
std::vector<std::string> texts(const std::vector<ProcessorMask>& masks);

}  // namespace rondo::testing

/// For tests whose machine only hwloc can read.
#define RONDO_SKIP_WITHOUT_HWLOC() \
  if (!::rondo::testing::hasHwloc()) GTEST_SKIP() << "no hwloc in this build or on this host"
