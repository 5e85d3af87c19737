// The memory that a program has got from rondoMemAlloc, by address: what makes a pointer of a call
// known as part of something that other ranks can map, or that must not be freed yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "src/status.h"

namespace rondo {

/// Memory that frees itself.
class MemoryBlock {
 public:
  virtual ~MemoryBlock() = default;

  /// A file that holds just this memory, for mapping it in other processes; -1: there is none.
  virtual int file() const { return -1; }

 protected:
  MemoryBlock() = default;
  MemoryBlock(const MemoryBlock&) = default;
  MemoryBlock& operator=(const MemoryBlock&) = default;
};

/// A part of a block.
struct PlaceInBlock {
  std::uint64_t block = 0;  ///< its number; never given to another one in this process
  std::size_t offset = 0;
  std::size_t blockBytes = 0;
};

/// @threads any
class AllocationTable {
 public:
  /// That of this process: a pointer that a program passes has nothing else to be looked up in. A
  /// process that is forked off begins with an empty one.
  static AllocationTable& ofProcess();

  /// Takes `block`, which is the `bytes` bytes from `begin` on.
  void add(void* begin, std::size_t bytes, std::unique_ptr<MemoryBlock> block);

  /// Frees the block that begins at `begin`.
  /// @errors InvalidArgument (none does), InvalidUsage (it is held; says by whom)
  Status free(void* begin);

  /// Where the `bytes` bytes at `data` are, if all in one block.
  std::optional<PlaceInBlock> find(const void* data, std::size_t bytes) const;

  /// Whether there is a block `number`.
  bool holds(std::uint64_t number) const;

  /// Keeps block `number` from being freed until as many calls of release().
  /// @param holder who frees it first, for the message: "rank 0 of communicator world"
  /// @return false: there is no such block any more
  bool hold(std::uint64_t number, const std::string& holder);

  void release(std::uint64_t number);

  /// A descriptor of its own of the file of block `number`, for the caller to close; -1: none.
  int duplicateFile(std::uint64_t number) const;

  /// A number that no block, and no other caller, of this process has.
  std::uint64_t newNumber();

  /// Changes whenever a block is freed: what find() said before may be wrong then.
  std::uint64_t changes() const;

 private:
  struct Entry {
    std::uint64_t number = 0;
    std::size_t bytes = 0;
    std::unique_ptr<MemoryBlock> block;
    int holds = 0;
    std::string holder;  // the last one
  };

  Entry* entryOf(std::uint64_t number);

  mutable std::mutex mutex_;
  std::map<std::uintptr_t, Entry> entries_;  // by where they begin
  std::uint64_t lastNumber_ = 0;
  // Read without the lock.
  mutable std::uint64_t changes_ = 1;
  mutable std::uint64_t blocks_ = 0;
};

}  // namespace rondo
