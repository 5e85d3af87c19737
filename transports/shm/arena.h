// Memory that processes of one host share: a memfd of fixed size, sealed against change of size, so
// that nothing lies in /dev/shm, nothing is left behind by a killed process, and no peer can shrink
// it under a reader. Pages are reserved range by range before they are used: lack of memory is an
// error then, never a SIGBUS later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/net/file_descriptor.h"
#include "src/status.h"

namespace rondo::shm {

/// A mapping of the whole arena. Move-only; unmapped at its end, freed by the kernel with the last.
class Arena {
 public:
  /// Makes an arena of `bytes` bytes of zeros, none of them reserved yet.
  /// @param bytes > 0, rounded up to whole pages
  /// @errors OutOfMemory (also: beyond this process's limit on file sizes), SystemError (the
  /// message
  ///   names the call that failed and what to check)
  static Result<Arena> create(std::size_t bytes);

  /// Maps the arena behind `file`, received from its maker.
  /// @errors SystemError (not a memfd, or not sealed as create() seals it)
  static Result<Arena> map(FileDescriptor file);

  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  std::byte* data() const { return data_; }

  std::size_t bytes() const { return bytes_; }

  /// For passing on to another process. Owned by the arena.
  const FileDescriptor& file() const { return file_; }

  /// Makes sure that the pages of [offset, offset + bytes) exist and are mapped here. Huge pages
  /// are asked for, so up to 2 MiB around the range may be taken from the machine at once; the next
  /// ranges are likely to lie there.
  /// @errors OutOfMemory, naming the bytes wanted
  Status reserve(std::size_t offset, std::size_t bytes);

  /// How much of the arena is mapped here in huge pages, as the kernel tells; 0 if it does not.
  std::size_t hugePageBytes() const;

 private:
  Arena(FileDescriptor file, std::byte* data, std::size_t bytes);

  /// Maps existing pages, as huge ones where that can be had.
  void mapPages(std::size_t offset, std::size_t bytes);

  /// Asks for the huge page at `page`, a multiple of its size, unless this mapping has before.
  void askForHugePage(std::size_t page);

  FileDescriptor file_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::vector<bool> askedForHuge_;  // by huge page
};

}  // namespace rondo::shm
