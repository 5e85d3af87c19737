// One collective call that is made twice, on host memory and on GPUs, from the same bytes: whatever
// differs afterwards, in the output, the input or around them, is a fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/cli/perf/case.h"
#include "tests/collective/reference.h"
#include "tests/gpu_check/rank_team.h"

namespace rondo::gpucheck {

using testing::Bytes;

struct CheckCall {
  perf::Case what;  ///< its algorithm is that of the communicators
  perf::Placement placement = perf::Placement::kOutOfPlace;
  std::size_t sendShiftElems = 0;  ///< beyond a 64-byte boundary
  std::size_t recvShiftElems = 0;
  std::uint64_t seed = 1;

  /// "all_reduce/ring float sum count 17 in_place ..."
  std::string text(int ranks) const;
};

/// A rank's memory: buffers with bytes around them that nobody may change.
struct RankMemory {
  Bytes first;   ///< what is sent; in place also what is received
  Bytes second;  ///< what is received
  std::size_t sendAt = 0;
  std::size_t recvAt = 0;
  bool sends = true;     ///< else it passes NULL
  bool receives = true;  ///< else it passes NULL
  bool shared = false;   ///< in place
  Bytes factor;          ///< premulsum's
};

/// A rank's memory before the call.
RankMemory memoryBefore(const CheckCall& call, int ranks, int rank);

/// Makes the call on host memory. @return each rank's memory after it
Result<std::vector<RankMemory>> runOnHost(const CheckCall& call, HostTeam& team);

/// Where a rank's copy of its memory lies on its GPU.
struct RankBuffers {
  GpuBuffer first;
  GpuBuffer second;

  /// @param bytes of each, for the calls to come
  static Result<RankBuffers> allocate(const Gpu& gpu, std::size_t bytes);
};

/// Makes one rank's part of the call on its GPU, and brings back its memory.
/// @param memory before the call; receives what is there after it
Status runOnGpu(const CheckCall& call,
                GpuRank& rank,
                const RankBuffers& buffers,
                std::chrono::seconds patience,
                RankMemory& memory);

/// What is wrong with the GPU's; empty if nothing. A NaN is a NaN.
std::string difference(const CheckCall& call, const RankMemory& host, const RankMemory& gpu);

/// The whole of it: host, GPUs, comparison.
/// @errors Internal: a wrong result, after which the communicators work on; those of the call
Status checkCall(const CheckCall& call,
                 HostTeam& host,
                 GpuTeam& gpus,
                 const std::vector<RankBuffers>& buffers);

}  // namespace rondo::gpucheck
