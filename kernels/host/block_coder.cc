#include "kernels/host/block_coder.h"

#include <array>
#include <cstring>

#include "kernels/host/float_blocks.h"

namespace rondo::host {

namespace {

/// The element type that is a codec's code; for codecs without scales.
DataType typeOfCodes(Codec codec) {
  switch (codec) {
    case Codec::kFloat16:
      return DataType::kFloat16;
    case Codec::kBfloat16:
      return DataType::kBfloat16;
    case Codec::kFloat8E4m3:
      return DataType::kFloat8E4m3;
    case Codec::kFloat8E5m2:
      return DataType::kFloat8E5m2;
    case Codec::kInt8:
      break;
  }
  return DataType::kInt8;
}

template <std::size_t kSources>
void cast(CombineFn function,
          const std::array<Operand, kSources>& sources,
          Target target,
          std::size_t elems) noexcept {
  CombineArgs args;
  args.sources = sources;
  args.targets = {&target, 1};
  args.elems = elems;
  function(args);
}

float scaleAt(const std::byte* place) {
  float scale = 0;
  std::memcpy(&scale, place, sizeof scale);
  return scale;
}

const std::int8_t* int8CodesOf(EncodedBlock block) {
  return reinterpret_cast<const std::int8_t*>(block.codes);
}

}  // namespace

const Int8Loops& int8Loops(SimdTarget target) {
  if (target == SimdTarget::kAvx512) return kAvx512Int8Loops;
  if (target == SimdTarget::kAvx2) return kAvx2Int8Loops;
  return kScalarInt8Loops;
}

BlockCoder::BlockCoder(Codec codec, SimdTarget target) : codec_(codec), int8_(&int8Loops(target)) {
  if (codec != Codec::kInt8) cast_ = combineFunction(typeOfCodes(codec), ReduceOp::kSum, target);
}

void BlockCoder::encode(const float* values, std::size_t elems, BlockSpace to) const noexcept {
  if (cast_ != nullptr) {
    cast<1>(cast_, {{{values, Form::kAccumulator}}}, {to.codes, Form::kNative}, elems);
    return;
  }
  const std::uint32_t peak = int8_->peak(values, elems);
  const Int8Codec::Scale scale = Int8Codec::scaleOf(peak);
  std::memcpy(to.scale, &scale.scale, sizeof scale.scale);
  if (Int8Codec::isFinite(peak)) {
    int8_->encode(values, scale.inverse, elems, reinterpret_cast<std::int8_t*>(to.codes));
  } else {
    std::memset(to.codes, 0, elems);
  }
}

void BlockCoder::decode(EncodedBlock from, std::size_t elems, float* values) const noexcept {
  if (cast_ != nullptr) {
    cast<1>(cast_, {{{from.codes, Form::kNative}}}, {values, Form::kAccumulator}, elems);
  } else {
    int8_->decode(int8CodesOf(from), scaleAt(from.scale), elems, values);
  }
}

void BlockCoder::addDecoded(EncodedBlock from, std::size_t elems, float* sums) const noexcept {
  if (cast_ != nullptr) {
    cast<2>(cast_, {{{sums, Form::kAccumulator}, {from.codes, Form::kNative}}},
            {sums, Form::kAccumulator}, elems);
  } else {
    int8_->addDecoded(int8CodesOf(from), scaleAt(from.scale), elems, sums);
  }
}

bool BlockCoder::decodedNonFinite(EncodedBlock from,
                                  const float* values,
                                  std::size_t elems) const noexcept {
  if (cast_ != nullptr) return anyReaches(kInfinityBits, values, elems);
  return elems > 0 && !Int8Codec::isFinite(magnitudeBits(scaleAt(from.scale)));
}

}  // namespace rondo::host
