#include "src/train/bucket_plan.h"

#include <algorithm>
#include <compare>
#include <map>
#include <utility>

namespace rondo::train {

std::size_t bytesOf(rondoDataType_t type) {
  switch (type) {
    case rondoInt8:
    case rondoUint8:
    case rondoFloat8E4m3:
    case rondoFloat8E5m2:
    case rondoBool:
      return 1;
    case rondoInt16:
    case rondoUint16:
    case rondoFloat16:
    case rondoBfloat16:
      return 2;
    case rondoInt32:
    case rondoUint32:
    case rondoFloat32:
      return 4;
    case rondoInt64:
    case rondoUint64:
    case rondoFloat64:
    case rondoComplex64:
      return 8;
    case rondoComplex128:
      return 16;
  }
  throw Error(rondoInvalidArgument,
              "gradients: " + std::to_string(static_cast<int>(type)) + " is no element type");
}

bool isCompressed(const GradientSpec& tensor, const BucketOptions& options) {
  if (!options.compression.has_value() || !tensor.compress) return false;
  switch (tensor.type) {
    case rondoFloat16:
    case rondoBfloat16:
    case rondoFloat32:
    case rondoFloat64:
    case rondoFloat8E4m3:
    case rondoFloat8E5m2:
      return true;
    default:
      return false;
  }
}

namespace {

/// What tensors of one bucket have in common.
struct BucketKind {
  rondoDataType_t type;
  bool compressed;

  friend auto operator<=>(const BucketKind&, const BucketKind&) = default;
};

struct OpenBucket {
  BucketLayout layout;
  std::size_t lastPlace = 0;  // in the order of arrival
};

}  // namespace

std::vector<BucketLayout> planBuckets(std::span<const GradientSpec> tensors,
                                      std::span<const std::size_t> order,
                                      const BucketOptions& options) {
  std::map<BucketKind, OpenBucket> open;
  std::vector<OpenBucket> closed;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const GradientSpec& tensor = tensors[order[place]];
    const BucketKind kind{tensor.type, isCompressed(tensor, options)};
    OpenBucket& bucket = open[kind];
    const std::size_t cap = closed.empty() ? options.firstCapBytes : options.capBytes;
    const std::size_t after = (bucket.layout.elems + tensor.count) * bytesOf(tensor.type);
    if (!bucket.layout.members.empty() && after > cap) closed.push_back(std::exchange(bucket, {}));
    bucket.layout.type = kind.type;
    bucket.layout.compressed = kind.compressed;
    bucket.layout.members.push_back({order[place], bucket.layout.elems});
    bucket.layout.elems += tensor.count;
    bucket.lastPlace = place;
  }
  for (auto& [kind, bucket] : open)
    closed.push_back(std::move(bucket));
  std::ranges::sort(closed, {}, &OpenBucket::lastPlace);
  std::vector<BucketLayout> buckets;
  for (OpenBucket& bucket : closed)
    buckets.push_back(std::move(bucket.layout));
  return buckets;
}

}  // namespace rondo::train
