// The codecs in a kernel: a thread block encodes, or decodes, a run of kernels/codec.h together.
// The same bytes as on the host. Written against device.h only, as everything in this folder.
//
// Warps share out the blocks of the run: each finds the largest magnitude of its block, a few
// elements per thread, which its threads then read from shared memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/partition.h"
#include "kernels/codec.h"
#include "kernels/cuda/conversion.h"
#include "kernels/cuda/device.h"

namespace rondo::device {

/// A run that begins where a tensor does, or `blockElems` elements or a multiple of it later: all
/// its blocks but the last are full.
struct RunShape {
  std::size_t elems = 0;
  std::size_t blockElems = kDefaultBlockElems;

  RONDO_DEVICE std::size_t blocks() const { return ceilDiv(elems, blockElems); }

  RONDO_DEVICE Span block(std::size_t index) const {
    const std::size_t first = index * blockElems;
    return {first, minOf(blockElems, elems - first)};
  }
};

/// Bytes of shared memory that encodeRun() needs.
constexpr std::size_t encodeSharedBytes(unsigned threads) {
  return threads * sizeof(std::uint32_t);
}

namespace coding {

/// Which threads of the thread block work on one block of a run.
struct Team {
  unsigned index = threadIndex() / kWarpThreads;
  unsigned count = blockThreads() / kWarpThreads;
  unsigned lane = threadIndex() % kWarpThreads;
};

RONDO_DEVICE void encodeInt8(const float* values, const RunShape& shape, std::byte* run) {
  const Team team;
  const std::size_t blocks = shape.blocks();
  auto* const scales = reinterpret_cast<float*>(run);
  auto* const codes = reinterpret_cast<std::int8_t*>(run + codeOffset(Codec::kInt8, blocks, 0));
  auto* const peaks = reinterpret_cast<std::uint32_t*>(sharedMemory());
  // All threads go round equally often, since they meet.
  for (std::size_t first = 0; first < blocks; first += team.count) {
    const std::size_t index = first + team.index;
    const Span block = index < blocks ? shape.block(index) : Span{};
    std::uint32_t peak = 0;
    for (std::size_t i = team.lane; i < block.elems; i += kWarpThreads) {
      const std::uint32_t magnitude = magnitudeBits(values[block.offset + i]);
      peak = magnitude > peak ? magnitude : peak;
    }
    peaks[threadIndex()] = peak;
    syncBlock();
    for (unsigned lane = 0; lane < kWarpThreads; ++lane) {
      const std::uint32_t other = peaks[team.index * kWarpThreads + lane];
      peak = other > peak ? other : peak;
    }
    syncBlock();  // the next round writes there
    const Int8Codec::Scale scale = Int8Codec::scaleOf(peak);
    const bool finite = Int8Codec::isFinite(peak);
    for (std::size_t i = team.lane; i < block.elems; i += kWarpThreads) {
      const std::size_t at = block.offset + i;
      codes[at] = finite ? Int8Codec::encode(values[at], scale.inverse) : std::int8_t{0};
    }
    if (index < blocks && team.lane == 0) scales[index] = scale.scale;
  }
}

template <class Float>
RONDO_DEVICE void encodeCast(const float* values, std::size_t elems, std::byte* run) {
  auto* const codes = reinterpret_cast<Float*>(run);
  for (std::size_t i = threadIndex(); i < elems; i += blockThreads())
    codes[i] = roundTo<Float>(values[i]);
}

/// Calls `use(i, decoded)` for every element of the run.
template <class Use>
RONDO_DEVICE void forDecodedInt8(const std::byte* run, const RunShape& shape, Use use) {
  const std::size_t blocks = shape.blocks();
  const auto* const scales = reinterpret_cast<const float*>(run);
  const auto* const codes =
      reinterpret_cast<const std::int8_t*>(run + codeOffset(Codec::kInt8, blocks, 0));
  const Team team;
  for (std::size_t index = team.index; index < blocks; index += team.count) {
    const Span block = shape.block(index);
    for (std::size_t i = team.lane; i < block.elems; i += kWarpThreads) {
      const std::size_t at = block.offset + i;
      use(at, Int8Codec::decode(codes[at], scales[index]));
    }
  }
}

template <class Float, class Use>
RONDO_DEVICE void forDecodedCast(const std::byte* run, std::size_t elems, Use use) {
  const auto* const codes = reinterpret_cast<const Float*>(run);
  for (std::size_t i = threadIndex(); i < elems; i += blockThreads())
    use(i, toFloat(codes[i]));
}

template <class Use>
RONDO_DEVICE void forDecoded(Codec codec, const std::byte* run, const RunShape& shape, Use use) {
  switch (codec) {
    case Codec::kFloat16:
      return forDecodedCast<Float16>(run, shape.elems, use);
    case Codec::kBfloat16:
      return forDecodedCast<Bfloat16>(run, shape.elems, use);
    case Codec::kFloat8E4m3:
      return forDecodedCast<Float8E4m3>(run, shape.elems, use);
    case Codec::kFloat8E5m2:
      return forDecodedCast<Float8E5m2>(run, shape.elems, use);
    case Codec::kInt8:
      return forDecodedInt8(run, shape, use);
  }
}

}  // namespace coding

/// Encodes `shape.elems` floats into a run. All threads of the block, which are whole warps; before
/// others read it they must be ordered, as by syncBlock().
/// @param run aligned to 4 bytes; encodedBytes() of it are written
RONDO_DEVICE void encodeRun(Codec codec,
                            const float* values,
                            const RunShape& shape,
                            std::byte* run) {
  switch (codec) {
    case Codec::kFloat16:
      return coding::encodeCast<Float16>(values, shape.elems, run);
    case Codec::kBfloat16:
      return coding::encodeCast<Bfloat16>(values, shape.elems, run);
    case Codec::kFloat8E4m3:
      return coding::encodeCast<Float8E4m3>(values, shape.elems, run);
    case Codec::kFloat8E5m2:
      return coding::encodeCast<Float8E5m2>(values, shape.elems, run);
    case Codec::kInt8:
      return coding::encodeInt8(values, shape, run);
  }
}

/// Decodes a run into `shape.elems` floats. All threads of the block, which are whole warps; the
/// threads that write an element are those that add to it in addDecodedRun().
RONDO_DEVICE void decodeRun(Codec codec,
                            const std::byte* run,
                            const RunShape& shape,
                            float* values) {
  coding::forDecoded(codec, run, shape, [=](std::size_t i, float decoded) { values[i] = decoded; });
}

/// Adds a run to `shape.elems` sums; as decodeRun().
RONDO_DEVICE void addDecodedRun(Codec codec,
                                const std::byte* run,
                                const RunShape& shape,
                                float* sums) {
  coding::forDecoded(codec, run, shape, [=](std::size_t i, float decoded) { sums[i] += decoded; });
}

}  // namespace rondo::device
