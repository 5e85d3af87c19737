// Every schedule, compiled for the device: nothing in collectives/ may need the host. Only the
// compiler runs; what the schedules do is tested on the host, from the same source
// (tests/schedule/).
#include <array>
#include <cstddef>

#include "collectives/registry.h"

namespace rondo {
namespace {

__device__ std::size_t digest(const Step& step) {
  std::size_t sum = step.inputOffset + step.outputOffset + step.scratchOffset + step.slotElems();
  sum += static_cast<std::size_t>(step.recv.first + step.send.first + step.sources());
  for (std::size_t row = 0; row < step.rows.count; ++row) {
    sum += step.userRow(step.inputOffset, row) + step.scratchRow(row);
  }
  return sum + (step.last ? 1 : 0);
}

/// Uses the whole interface that a device executor needs.
template <Schedule S>
__global__ void walk(ScheduleArgs args, std::size_t* to) {
  const S schedule(args);
  std::size_t sum = schedule.scratchElems();
  for (int entry = 0; entry < schedule.recvPeers(); ++entry) {
    sum += static_cast<std::size_t>(schedule.recvPeer(entry));
  }
  for (int entry = 0; entry < schedule.sendPeers(); ++entry) {
    sum += static_cast<std::size_t>(schedule.sendPeer(entry));
  }
  for (std::size_t index = 0; index < schedule.size(); ++index) {
    sum += digest(schedule.step(index));
  }
  *to = sum;
}

using WalkKernel = void (*)(ScheduleArgs, std::size_t*);

template <Schedule... S>
constexpr std::array<WalkKernel, sizeof...(S)> kernelsOf(ScheduleList<S...>) {
  return {&walk<S>...};
}

}  // namespace

/// Names every kernel, so that all are compiled.
extern const std::array<WalkKernel, kAlgorithmCount> kWalkKernels;
const std::array<WalkKernel, kAlgorithmCount> kWalkKernels = kernelsOf(AllSchedules{});

}  // namespace rondo
