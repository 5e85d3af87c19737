// Memory that other processes of the host can map, as memory of a GPU can be.
//
// A process has one file for all of it, which it shares by its name in /proc and which only grows:
// what is freed goes back to the kernel, and its place is never used again. Whoever opens memory
// locks its first byte there. The kernel takes a lock back when its process ends, however it ends,
// so an owner knows at any time whether somebody still has the memory open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <sys/types.h>

namespace rondo::testing {

/// Mapped memory, as aligned as pages are; unmapped at the end.
class Mapping {
 public:
  Mapping() = default;
  /// Maps `file` from `offset` on, to be shared; private memory if `file` is -1.
  Mapping(int file, std::uint64_t offset, std::size_t bytes);
  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  /// Null if there was no memory.
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Where an allocation is; the same to all processes.
struct SharedRange {
  std::int32_t process;  ///< that has made it
  std::int32_t file;     ///< its descriptor there
  std::uint64_t offset;  ///< of a page with the id; the memory follows
  std::uint64_t bytes;
  std::uint64_t id;  ///< no other allocation has it
};

/// The file of an arena; closed at the end.
class ArenaFile {
 public:
  explicit ArenaFile(int descriptor);
  ~ArenaFile();
  ArenaFile(const ArenaFile&) = delete;
  ArenaFile& operator=(const ArenaFile&) = delete;
  ArenaFile(ArenaFile&&) = delete;
  ArenaFile& operator=(ArenaFile&&) = delete;

  int descriptor() const { return descriptor_; }

  /// Whether `path` is another name of this file.
  bool isAt(const char* path) const;

 private:
  int descriptor_;
};

/// An allocation of this or of another process, mapped here.
struct SharedMemory {
  SharedRange range{};
  Mapping mapping;
  std::shared_ptr<const ArenaFile> file;  ///< shared by all allocations in it

  std::byte* data() const;
};

/// What this process shares.
/// @threads any
class SharedArena {
 public:
  /// Nothing if there is no memory.
  std::optional<SharedMemory> allocate(std::size_t bytes);

  /// Ends this process, with a word to stderr, if another one has the memory open: to use it there
  /// would be undefined behaviour from now on.
  static void release(SharedMemory memory);

 private:
  bool grow(SharedRange& range);

  std::mutex mutex_;
  std::shared_ptr<const ArenaFile> file_;  // made when it is first needed
  std::uint64_t end_ = 0;
};

/// Maps memory of another process.
/// @param known  files that are open already. Locks in a file are lost when a descriptor of it is
///               closed, so no file may be opened twice.
/// @return nothing if that process has ended or has freed the memory
std::optional<SharedMemory> openShared(const SharedRange& range,
                                       const std::vector<std::shared_ptr<const ArenaFile>>& known);

/// Undoes that. The caller has no other mapping of the same range.
void unlockShared(const SharedMemory& memory);

}  // namespace rondo::testing
