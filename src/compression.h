// How one compressed call compresses, after its arguments were checked (src/compression_checks.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "kernels/codec.h"
#include "rondo/rondo.h"

namespace rondo {

class ErrorFeedback;

struct Compression {
  Codec codec = Codec::kInt8;
  std::size_t blockElems = kDefaultBlockElems;
  /// Elements of each tensor of the larger buffer, which they fill; none: it is one tensor. Not
  /// owned. Empty where the codec makes no difference between blocks.
  std::span<const std::size_t> tensors;
  std::uint64_t tensorsHash = 0;
  /// Shared with its handle, which may be given up while a call uses it; null: there is none.
  std::shared_ptr<ErrorFeedback> feedback;
  rondoCompressionReport_t* report = nullptr;  ///< not owned; null: nobody wants it
};

}  // namespace rondo
