#include "perf/race/harness/library.h"

#include <cstring>

#include "perf/race/harness/failure.h"

namespace rondo::race {

std::byte* Library::allocate(std::size_t bytes) {
  constexpr std::size_t kPageBytes = 4096;
  if (buffersMade_ == 2) fail("a rank has two buffers");
  const std::size_t wholePages = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(kPageBytes, wholePages));
  if (memory == nullptr) fail("no memory for the buffers");
  std::memset(memory, 0, wholePages);
  buffers_[buffersMade_++].reset(memory);
  return memory;
}

}  // namespace rondo::race
