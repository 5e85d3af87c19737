// Which tensor goes into which bucket. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "rondo/train/gradient_buckets.h"

namespace rondo::train {

/// Bytes of one element.
std::size_t bytesOf(rondoDataType_t type);

/// A tensor's place.
struct BucketMember {
  std::size_t tensor = 0;
  std::size_t offsetElems = 0;
};

/// Whether a tensor is compressed on the wire. Pure.
bool isCompressed(const GradientSpec& tensor, const BucketOptions& options);

/// Tensors of one type, all of them compressed or none, that lie one after another.
struct BucketLayout {
  rondoDataType_t type = rondoFloat32;
  bool compressed = false;
  std::size_t elems = 0;
  std::vector<BucketMember> members{};

  std::size_t bytes() const { return elems * bytesOf(type); }
};

/// Fills buckets with tensors in the order in which they become ready. Each type has a bucket of
/// its own that is open, or two, where some of its tensors are compressed; a tensor that would make
/// it exceed its cap closes it first.
/// @param order all indices of `tensors`, each once
/// @return buckets in the order in which their last tensors become ready
std::vector<BucketLayout> planBuckets(std::span<const GradientSpec> tensors,
                                      std::span<const std::size_t> order,
                                      const BucketOptions& options);

}  // namespace rondo::train
