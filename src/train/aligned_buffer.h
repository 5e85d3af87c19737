// Memory for tensors: aligned for vector instructions, zero at first.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

namespace rondo::train {

/// Owns `bytes` bytes, aligned to 64.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;

  explicit AlignedBuffer(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    memory_.reset(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
    std::memset(memory_.get(), 0, bytes);
  }

  std::byte* data() const { return memory_.get(); }

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(memory_.get());
  }

  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::align_val_t kAlignment{64};

  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };

  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace rondo::train
