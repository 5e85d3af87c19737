// Memory that several processes see, without a name in any file system: others reach it through the
// descriptor of the process that made it, so nothing is left behind.
#pragma once

#include <cstddef>

#include <sys/types.h>

namespace rondo::race {

/// By which others open it. Good while the maker lives and keeps the descriptor open.
struct SharedMemoryName {
  pid_t maker = 0;
  int descriptor = -1;
};

/// A mapping; ends with the object.
class SharedMemory {
 public:
  /// Makes memory of `bytes` zeros.
  static SharedMemoryName make(std::size_t bytes);

  SharedMemory(SharedMemoryName name, std::size_t bytes);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  std::byte* data() const { return data_; }

 private:
  std::byte* data_;
  std::size_t bytes_;
};

}  // namespace rondo::race
