// Memory with a strip of known bytes before and after it, so that a write outside is seen.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "src/status.h"

namespace rondo::perf {

/// @threads one at a time
class GuardedBuffer {
 public:
  /// @param bytes        of the buffer proper
  /// @param offsetBytes  distance of its start from a 64-byte boundary
  /// @param fromRondo    the memory is of rondoMemAlloc
  /// @errors OutOfMemory
  static Result<GuardedBuffer> create(std::size_t bytes,
                                      std::size_t offsetBytes,
                                      bool fromRondo = false);

  /// The buffer proper.
  std::span<std::byte> bytes() const { return {start_, bytes_}; }

  /// Fills the buffer with what no operation leaves behind by chance.
  void poison();

  /// True if no byte outside was changed.
  bool guardsIntact() const;

 private:
  GuardedBuffer() = default;

  std::span<std::byte> before() const;
  std::span<std::byte> after() const;

  std::unique_ptr<std::byte, void (*)(std::byte*)> memory_{nullptr, nullptr};
  std::byte* start_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace rondo::perf
