#include "src/compression_checks.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "collectives/buffers.h"
#include "kernels/codec.h"
#include "src/feedback_handles.h"

namespace rondo {

namespace {

constexpr bool same(rondoCodec_t codec, Codec internal) {
  return static_cast<int>(codec) == static_cast<int>(internal);
}

static_assert(same(rondoCodecFloat16, Codec::kFloat16) &&
              same(rondoCodecBfloat16, Codec::kBfloat16) &&
              same(rondoCodecFloat8E4m3, Codec::kFloat8E4m3) &&
              same(rondoCodecFloat8E5m2, Codec::kFloat8E5m2) &&
              same(rondoCodecInt8, Codec::kInt8) && kCodecCount == 5);

/// The program's wishes in the shape of this version; a smaller struct of an older one is filled
/// up.
Result<rondoCompression_t> adopt(const rondoCompression_t* requested) {
  rondoCompression_t adopted = RONDO_COMPRESSION_INITIALIZER;
  constexpr std::size_t kHeadBytes = offsetof(rondoCompression_t, codec);
  if (requested == nullptr) {
    return Status::invalidArgument(
        "compression is NULL; pass one that starts from RONDO_COMPRESSION_INITIALIZER");
  }
  if (requested->magic != RONDO_COMPRESSION_MAGIC) {
    return Status::invalidArgument(
        "compression {} was not initialised; start from RONDO_COMPRESSION_INITIALIZER",
        static_cast<const void*>(requested));
  }
  if (requested->size > sizeof(rondoCompression_t)) {
    return Status::invalidArgument(
        "compression has {} bytes, {} are known: the program was compiled for version {}, the "
        "library is {}; use a library that is at least as new",
        requested->size, sizeof(rondoCompression_t), requested->version, RONDO_VERSION);
  }
  if (requested->size < kHeadBytes || requested->size % sizeof(std::int64_t) != 0) {
    return Status::invalidArgument("compression size {} is impossible; leave the field size alone",
                                   requested->size);
  }
  std::memcpy(&adopted, requested, requested->size);
  return adopted;
}

Status checkNumbers(const CollectiveCall& call) {
  if (call.pairs) {
    return Status::notSupported(
        "complex numbers cannot be compressed yet; pass their parts, as twice as many {}",
        dataTypeName(call.type));
  }
  if (!isFloat(call.type)) {
    return Status::invalidArgument("type {} cannot be compressed; pass a float type",
                                   dataTypeName(call.type));
  }
  if (isReduction(call.collective) && call.combiner != Combiner::kBuiltIn) {
    return Status::notSupported(
        "a reduction by a function of the program cannot be compressed: what travels are sums of "
        "codes; pass rondoSum or rondoAvg");
  }
  const bool adds = call.op == ReduceOp::kSum || call.op == ReduceOp::kAvg;
  if (!isReduction(call.collective) || adds) return {};
  return Status::notSupported("op {} of compressed elements; pass rondoSum or rondoAvg",
                              reduceOpName(call.op));
}

Result<Codec> codecOf(const rondoCompression_t& requested) {
  const int codec = static_cast<int>(requested.codec);
  if (codec >= 0 && codec < kCodecCount) return static_cast<Codec>(codec);
  return Status::invalidArgument(
      "codec {} is no rondoCodec_t; pass rondoCodecFloat16 (0) to rondoCodecInt8 ({})", codec,
      kCodecCount - 1);
}

Result<std::size_t> blockElemsOf(const rondoCompression_t& requested, Codec codec) {
  // What needs no scale is cut into blocks all the same, to be shared out.
  if (requested.blockElems == RONDO_UNDEFINED || scaleBytes(codec) == 0) return kDefaultBlockElems;
  constexpr std::int64_t kLeast = 16;  // a cache line of fp32: owners' shares begin with one
  constexpr std::int64_t kMost = 16384;
  const std::int64_t elems = requested.blockElems;
  if (elems >= kLeast && elems <= kMost && elems % kLeast == 0) {
    return static_cast<std::size_t>(elems);
  }
  return Status::invalidArgument("blockElems is {}; pass a multiple of {} from {} to {}", elems,
                                 kLeast, kLeast, kMost);
}

Status checkBetweenHosts(const rondoCompression_t& requested) {
  if (requested.betweenHosts == 0 || requested.betweenHosts == RONDO_UNDEFINED) return {};
  if (requested.betweenHosts == 1) {
    return Status::notSupported(
        "betweenHosts is 1, but collectives of two levels do not compress yet; pass 0 to compress "
        "between all ranks");
  }
  return Status::invalidArgument("betweenHosts is {}; pass 0 or 1", requested.betweenHosts);
}

/// @param elems of the buffer that the tensors fill
Status checkTensors(const rondoCompression_t& requested, std::size_t elems) {
  if ((requested.tensorCounts == nullptr) != (requested.tensors == 0)) {
    return Status::invalidArgument(
        "tensors is {} and tensorCounts is {}; pass an array with one count each, or 0 and NULL",
        requested.tensors, static_cast<const void*>(requested.tensorCounts));
  }
  if (requested.tensors == 0) return {};
  std::size_t rest = elems;
  for (std::size_t tensor = 0; tensor < requested.tensors; ++tensor) {
    if (requested.tensorCounts[tensor] > rest) {
      return Status::invalidArgument(
          "tensorCounts: the first {} tensors have more than the {} elements of the buffer; let "
          "their sum be that",
          tensor + 1, elems);
    }
    rest -= requested.tensorCounts[tensor];
  }
  if (rest == 0) return {};
  return Status::invalidArgument(
      "tensorCounts: the {} tensors have {} elements, the buffer has {}; let their sum be that",
      requested.tensors, elems - rest, elems);
}

/// A hash of the counts in their order (FNV-1a over words; Fowler, Noll and Vo).
std::uint64_t hashOf(std::span<const std::size_t> counts) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const std::size_t count : counts)
    hash = (hash ^ count) * 0x100000001b3ULL;
  return hash;
}

Status fillIn(const rondoCompression_t* raw, Caller caller, CollectiveCall& call) {
  RONDO_RETURN_IF_ERROR(checkNumbers(call));
  const Result<rondoCompression_t> requested = adopt(raw);
  RONDO_RETURN_IF_ERROR(requested.status());
  const Result<Codec> codec = codecOf(*requested);
  RONDO_RETURN_IF_ERROR(codec.status());
  const Result<std::size_t> blockElems = blockElemsOf(*requested, *codec);
  RONDO_RETURN_IF_ERROR(blockElems.status());
  RONDO_RETURN_IF_ERROR(checkBetweenHosts(*requested));
  const std::size_t elems = call.count * mostBlocks(call.collective, caller.ranks);
  RONDO_RETURN_IF_ERROR(checkTensors(*requested, elems));
  Compression compression;
  compression.codec = *codec;
  compression.blockElems = *blockElems;
  if (requested->tensors > 0 && scaleBytes(*codec) > 0) {
    compression.tensors = {requested->tensorCounts, requested->tensors};
    compression.tensorsHash = hashOf(compression.tensors);
  }
  if (requested->feedback != nullptr) {
    Result<std::shared_ptr<ErrorFeedback>> feedback = findFeedback(requested->feedback);
    RONDO_RETURN_IF_ERROR(feedback.status());
    compression.feedback = *std::move(feedback);
  }
  compression.report = requested->report;
  call.compression = std::move(compression);
  return {};
}

}  // namespace

Result<CollectiveCall> checkArguments(const RawCompressedCall& raw,
                                      Caller caller,
                                      const ReductionTable& reductions) {
  Result<CollectiveCall> call =
      checkArguments(static_cast<const RawCall&>(raw), caller, reductions);
  RONDO_RETURN_IF_ERROR(call.status());
  Status status = fillIn(raw.compression, caller, *call);
  if (status.ok()) return call;
  return std::move(status).withContext(
      fmt::format("rank {} compressed {}", caller.rank, collectiveName(raw.collective)));
}

}  // namespace rondo
