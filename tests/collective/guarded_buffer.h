// Memory for one buffer of a call, with bytes around it that nobody may change.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace rondo::testing {

class GuardedBuffer {
 public:
  GuardedBuffer() = default;

  /// @param shift bytes beyond a 64-byte boundary that the buffer starts at; below 64
  GuardedBuffer(std::size_t bytes, std::size_t shift);

  std::byte* data() { return memory_.get() + begin_; }

  std::span<std::byte> bytes() { return {data(), bytes_}; }

  /// True if no byte around the buffer has changed.
  bool guardsIntact() const;

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };

  std::unique_ptr<std::byte, Free> memory_;
  std::size_t total_ = 0;
  std::size_t begin_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace rondo::testing
