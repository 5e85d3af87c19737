// A file descriptor that has one owner. The only place that closes one.
#pragma once

#include <utility>

#include <unistd.h>

namespace rondo {

/// Owns one open file description, or none.
/// @threads one at a time.
class FileDescriptor {
 public:
  /// None.
  FileDescriptor() = default;

  /// Takes `descriptor` over; negative: none.
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}

  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  FileDescriptor(FileDescriptor&& other) noexcept : descriptor_(other.release()) {}

  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      reset();
      descriptor_ = other.release();
    }
    return *this;
  }

  ~FileDescriptor() { reset(); }

  /// The number, or -1. Valid as long as this object owns it.
  int get() const { return descriptor_; }

  bool valid() const { return descriptor_ >= 0; }

  /// Gives the descriptor to the caller, who must close it.
  [[nodiscard]] int release() { return std::exchange(descriptor_, -1); }

  /// Closes it now. Linux frees the number even when close() is interrupted, so it is not retried.
  void reset() {
    if (valid()) (void)::close(release());
  }

 private:
  int descriptor_ = -1;
};

}  // namespace rondo
