// Memory that starts on a page boundary and is not touched until it is used.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "transports/pages.h"

namespace rondo {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;

  /// `bytes` > 0 bytes of indeterminate value, or an empty buffer if there is no memory.
  explicit AlignedBuffer(std::size_t bytes)
      : memory_(static_cast<std::byte*>(
            ::operator new (bytes, std::align_val_t{kPageBytes}, std::nothrow))) {}

  /// Null if empty.
  std::byte* data() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(std::byte* memory) const {
      ::operator delete (memory, std::align_val_t{kPageBytes});
    }
  };

  std::unique_ptr<std::byte, Free> memory_;
};

}  // namespace rondo
