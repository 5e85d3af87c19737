#include "tests/cuda/emulator/block.h"

#include <algorithm>

namespace rondo::emulator {
namespace {

/// Packs that hold `bytes`. There is always one, so that a block has memory to point to; there are
/// no more, so that AddressSanitizer sees what goes beyond.
std::size_t sharedPacks(std::size_t bytes) {
  return std::max<std::size_t>(1, (bytes + sizeof(device::Pack) - 1) / sizeof(device::Pack));
}

void setMembers(Meeting& meeting, unsigned members) {
  meeting.members = members;
  meeting.arrived.resize(members);
}

}  // namespace

Block::Block(Grid& itsGrid, unsigned itsIndex, unsigned threadCount, std::size_t sharedBytes)
    : grid(itsGrid),
      index(itsIndex),
      threads(threadCount),
      warps((threadCount + device::kWarpThreads - 1) / device::kWarpThreads),
      shared(sharedPacks(sharedBytes), device::Pack{{kPoison, kPoison}}) {
  setMembers(all, threadCount);
  unsigned rest = threadCount;
  for (Warp& warp : warps) {
    setMembers(warp.meeting, std::min(rest, device::kWarpThreads));
    rest -= warp.meeting.members;
  }
  for (unsigned i = 0; i < threadCount; ++i) {
    threads[i].block = this;
    threads[i].index = i;
  }
}

}  // namespace rondo::emulator
