// The buffers that a program has registered with a communicator, as its adapters know them: what
// lies in one is sent from where it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "src/status.h"
#include "transports/verbs/device.h"

namespace rondo::verbs {

/// @threads one at a time
class RegisteredBuffers {
 public:
  /// Registers `memory` with all of `devices`, for reading.
  /// @param number one that is not in use
  /// @errors SystemError: the first device that does not take it; the others have it all the same.
  Status add(std::uint64_t number,
             std::span<const std::byte> memory,
             const std::vector<std::shared_ptr<Device>>& devices);

  /// Whether it has a buffer of this number.
  bool has(std::uint64_t number) const;

  /// Nothing that was posted may read from it any more. Does nothing if there is none.
  void remove(std::uint64_t number);

  /// The key by which `device` reads the `bytes` bytes at `data`; empty: they do not lie in one
  /// buffer that it has.
  std::optional<std::uint32_t> keyOf(const Device& device,
                                     const std::byte* data,
                                     std::size_t bytes) const;

 private:
  struct Buffer {
    std::uint64_t number = 0;
    std::span<const std::byte> memory;
    std::map<const Device*, Owned<ibv_mr>> regions;
  };

  // A program has few, and looks them up once per slot: they are gone through. They may overlap.
  std::vector<Buffer> buffers_;
};

}  // namespace rondo::verbs
