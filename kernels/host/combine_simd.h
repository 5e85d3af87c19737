// The combine loops on SIMD registers. Included by one file per instruction set (combine_avx2.cc,
// combine_avx512.cc), compiled with that set's flags; everything lives in Highway's namespace for
// it, so the copies never meet. Only inlined or namespaced code may be used here: a std:: function
// that is emitted from these files could replace the baseline one (tests/unit/combine.cmake
// checks).
//
// One pass: a few registers of elements are loaded from the first source, each further source is
// folded in, the result goes to each target. A *lanes* class says how elements of a type sit in
// registers; a *fold* says how two of them combine. Rules of rounding, NaN and zero are
// kernels/element.h's; Highway's own conversions to bfloat16 and its min and max follow other rules
// and are not used for floats.
#pragma once

#include <type_traits>

#include <hwy/highway.h>

#include "kernels/element.h"
#include "kernels/host/combine.h"

namespace rondo::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// ---- Folds: fold(before, next source), on registers -----------------------------------------

struct AddFold {
  static constexpr bool kIsSum = true;

  template <class V>
  static HWY_INLINE V fold(V a, V b) {
    return hn::Add(a, b);
  }
};

struct MultiplyFold {
  static constexpr bool kIsSum = false;

  template <class V>
  static HWY_INLINE V fold(V a, V b) {
    using D = hn::DFromV<V>;
    if constexpr (sizeof(hn::TFromD<D>) == 1) {
      // There is no 8-bit product: the low halves of two 16-bit ones.
      const hn::RepartitionToWide<D> wide;
      const auto a16 = hn::BitCast(wide, a);
      const auto b16 = hn::BitCast(wide, b);
      const auto even = hn::And(hn::Mul(a16, b16), hn::Set(wide, 0xff));
      const auto odd = hn::Mul(hn::ShiftRight<8>(a16), hn::ShiftRight<8>(b16));
      return hn::BitCast(D(), hn::Or(even, hn::ShiftLeft<8>(odd)));
    } else {
      return hn::Mul(a, b);
    }
  }
};

struct MinFold {
  static constexpr bool kIsSum = false;

  /// For floats each order of operands gives the second one where neither is below the other: equal
  /// zeros are or-ed to -0, a NaN or-ed with anything stays NaN, and equal numbers stay.
  template <class V>
  static HWY_INLINE V fold(V a, V b) {
    if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
      const auto first = hn::IfThenElse(hn::Lt(a, b), a, b);
      const auto second = hn::IfThenElse(hn::Lt(b, a), b, a);
      return hn::Or(first, second);
    } else {
      return hn::Min(a, b);
    }
  }
};

struct MaxFold {
  static constexpr bool kIsSum = false;

  template <class V>
  static HWY_INLINE V fold(V a, V b) {
    if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
      return hn::Neg(MinFold::fold(hn::Neg(a), hn::Neg(b)));
    } else {
      return hn::Max(a, b);
    }
  }
};

// ---- Lanes: how elements are loaded into, and stored from, registers --------------------------

/// Elements that are their own accumulators, as they are.
template <class T>
struct PlainLanes {
  using Element = T;
  using Accumulator = T;
  using D = hn::ScalableTag<T>;
  using Value = hn::Vec<D>;

  static constexpr std::size_t kRegisters = 1;

  static constexpr std::size_t kElems = hn::MaxLanes(D());

  static HWY_INLINE Value load(const T* from) { return hn::LoadU(D(), from); }

  static HWY_INLINE Value loadScaled(const T* from, Value scale) {
    return MultiplyFold::fold(load(from), scale);
  }

  static HWY_INLINE Value broadcast(T value) { return hn::Set(D(), value); }

  static HWY_INLINE Value divide(Value value, Value divisor) { return hn::Div(value, divisor); }

  static HWY_INLINE void store(Value value, T* to) { hn::StoreU(value, D(), to); }

  template <class Fold>
  static HWY_INLINE Value fold(Value a, Value b) {
    return Fold::fold(a, b);
  }
};

/// Truth values, as 0 or 1 once loaded.
struct BoolLanes : PlainLanes<std::uint8_t> {
  static HWY_INLINE Value load(const std::uint8_t* from) {
    return hn::Min(hn::LoadU(D(), from), hn::Set(D(), 1));
  }
};

/// Narrow floats under min and max: never widened. As signed integers, the bits of floats compare
/// as the floats do, -0 below +0, unless both are negative: then they compare the other way round.
/// NaN of one sign wins by itself. For NaN of the other sign the greatest code is kept too,
/// unsigned under max and signed under min: if it is beyond infinity's, it was NaN, and so is the
/// result.
template <class Float, bool kGreater>
struct OrderedLanes {
  using Element = hwy::MakeSigned<typename Float::Bits>;
  using Accumulator = Element;
  using D = hn::ScalableTag<Element>;
  using LosingTag = std::conditional_t<kGreater, hn::RebindToUnsigned<D>, D>;

  static constexpr std::size_t kRegisters = 2;

  struct Value {
    hn::Vec<D> best;
    hn::Vec<LosingTag> greatestCode;
  };

  static constexpr std::size_t kElems = hn::MaxLanes(D());

  static HWY_INLINE Value load(const Element* from) {
    const auto bits = hn::LoadU(D(), from);
    return {bits, hn::BitCast(LosingTag(), bits)};
  }

  static HWY_INLINE void store(Value value, Element* to) {
    constexpr std::uint32_t kSign = kGreater ? Float::kSignBit : 0;
    using Code = hn::TFromD<LosingTag>;
    const auto leastNan = hn::Set(LosingTag(), static_cast<Code>(kSign | (Float::kMaxNumber + 1)));
    const auto isNan = hn::Eq(hn::Max(value.greatestCode, leastNan), value.greatestCode);
    // All ones is a NaN in every format.
    const auto nan = hn::BitCast(D(), hn::VecFromMask(LosingTag(), isNan));
    hn::StoreU(hn::Or(value.best, nan), D(), to);
  }

  template <class Fold>
  static HWY_INLINE Value fold(Value a, Value b) {
    const auto low = hn::Min(a.best, b.best);
    const auto high = hn::Max(a.best, b.best);
    const auto bothNegative = hn::And(a.best, b.best);
    const auto best = kGreater ? hn::IfNegativeThenElse(bothNegative, low, high)
                               : hn::IfNegativeThenElse(bothNegative, high, low);
    return {best, hn::Max(a.greatestCode, b.greatestCode)};
  }
};

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;
using WordTag = hn::RebindToUnsigned<FloatTag>;

/// Half-precision elements, one register of fp32 accumulators at a time.
struct Float16Codec {
  using Element = hwy::float16_t;
  using D = hn::Rebind<hwy::float16_t, FloatTag>;
  using Encoded = hn::Vec<D>;

  static HWY_INLINE FloatVec decode(Encoded value) { return hn::PromoteTo(FloatTag(), value); }

  /// VCVTPS2PH with rounding to nearest even in its immediate operand.
  static HWY_INLINE Encoded encode(FloatVec value) { return hn::DemoteTo(D(), value); }
};

/// 8-bit floats. Decoding goes through half precision, which holds all of their values.
template <class Float>
struct Float8Codec {
  using Element = std::uint8_t;
  using D = hn::Rebind<std::uint8_t, FloatTag>;
  using Encoded = hn::Vec<D>;

  static HWY_INLINE FloatVec decode(Encoded value) {
    using HalfBitsTag = hn::Rebind<std::uint16_t, FloatTag>;
    const HalfBitsTag tag;
    const auto bits = hn::PromoteTo(tag, value);
    if constexpr (Float::kMaxNumber == Float::kOverflow) {
      return Float16Codec::decode(hn::BitCast(Float16Codec::D(), hn::ShiftLeft<8>(bits)));
    } else {
      const auto magnitude = hn::And(bits, hn::Set(tag, 0x7f));
      const auto sign = hn::ShiftLeft<8>(hn::And(bits, hn::Set(tag, 0x80)));
      const auto isNan = hn::Eq(magnitude, hn::Set(tag, Float::kQuietNan));
      const auto aligned = hn::ShiftLeft<7>(magnitude);
      const auto half = hn::IfThenElse(isNan, hn::Set(tag, Float16::kQuietNan), aligned);
      const auto scaled = Float16Codec::decode(hn::BitCast(Float16Codec::D(), hn::Or(half, sign)));
      return hn::Mul(scaled, hn::Set(FloatTag(), detail::exp2OfInt(15 - Float::kBias)));
    }
  }

  /// Minifloat::fromFloat(): normals are rounded on the bits; for denormals the addition of a
  /// number whose unit in the last place is the smallest denormal rounds, and leaves the code in
  /// low bits.
  static HWY_INLINE Encoded encode(FloatVec value) {
    const WordTag words;
    const auto bits = hn::BitCast(words, value);
    const auto magnitude = hn::And(bits, hn::Set(words, 0x7fffffffu));
    const auto sign = hn::And(hn::ShiftRight<24>(bits), hn::Set(words, Float::kSignBit));

    constexpr int kDropped = Float::kDroppedBits;
    constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - Float::kBias) << 23;
    const auto rebiased = hn::Sub(magnitude, hn::Set(words, kRebias));
    const auto odd = hn::And(hn::ShiftRight<kDropped>(rebiased), hn::Set(words, 1u));
    const auto bias = hn::Add(odd, hn::Set(words, (1u << (kDropped - 1)) - 1));
    const auto normal = hn::ShiftRight<kDropped>(hn::Add(rebiased, bias));

    const auto magic = hn::Set(FloatTag(), detail::exp2OfInt(1 - Float::kBias + kDropped));
    const auto shifted = hn::Add(hn::BitCast(FloatTag(), magnitude), magic);
    const auto denormal = hn::Sub(hn::BitCast(words, shifted), hn::BitCast(words, magic));

    const auto isDenormal = hn::Lt(magnitude, hn::Set(words, kRebias + (1u << 23)));
    const auto code = hn::IfThenElse(isDenormal, denormal, normal);
    const auto capped = hn::Min(code, hn::Set(words, Float::kOverflow));
    const auto isNan = hn::Gt(magnitude, hn::Set(words, 0x7f800000u));
    const auto result = hn::IfThenElse(isNan, hn::Set(words, Float::kQuietNan), capped);
    const hn::RebindToSigned<WordTag> signedWords;
    return hn::DemoteTo(D(), hn::BitCast(signedWords, hn::Or(result, sign)));
  }
};

/// Narrow floats that are summed or multiplied in fp32, one register of accumulators at a time.
template <class Codec>
struct WidenedLanes {
  using Element = typename Codec::Element;
  using Accumulator = float;
  using D = typename Codec::D;
  using Value = FloatVec;

  static constexpr std::size_t kRegisters = 1;

  static constexpr std::size_t kElems = hn::MaxLanes(FloatTag());

  static HWY_INLINE Value load(const Element* from) { return Codec::decode(hn::LoadU(D(), from)); }

  static HWY_INLINE Value loadAccumulator(const float* from) { return hn::LoadU(FloatTag(), from); }

  static HWY_INLINE Value loadScaled(const Element* from, Value scale) {
    return Codec::decode(Codec::encode(hn::Mul(load(from), scale)));
  }

  static HWY_INLINE Value broadcast(float value) { return hn::Set(FloatTag(), value); }

  static HWY_INLINE Value divide(Value value, Value divisor) { return hn::Div(value, divisor); }

  static HWY_INLINE void store(Value value, Element* to) {
    hn::StoreU(Codec::encode(value), D(), to);
  }

  static HWY_INLINE void storeAccumulator(Value value, float* to) {
    hn::StoreU(value, FloatTag(), to);
  }

  template <class Fold>
  static HWY_INLINE Value fold(Value a, Value b) {
    return Fold::fold(a, b);
  }
};

/// Bfloat16 is the upper half of fp32: elements with even and with odd positions are widened in
/// place, by a shift and by a mask, and never cross lanes. Only fp32 operands pay for shuffles.
///
/// Invariant: a NaN in a register is quiet and its lower half is zero, so that rounding needs no
/// case for it: it never carries. Elements have it when widened; results of arithmetic are the
/// default NaN or an operand, made quiet; fp32 from outside is made so when it is read.
struct Bfloat16Lanes {
  using Element = std::uint16_t;
  using Accumulator = float;
  using D = hn::ScalableTag<std::uint16_t>;

  static constexpr std::size_t kRegisters = 2;

  struct Value {
    FloatVec even;
    FloatVec odd;
  };

  static constexpr std::size_t kElems = hn::MaxLanes(D());

  static HWY_INLINE Value load(const Element* from) { return widen(hn::LoadU(D(), from)); }

  static HWY_INLINE Value loadAccumulator(const float* from) {
    Value value;
    hn::LoadInterleaved2(FloatTag(), from, value.even, value.odd);
    return {withPlainNan(value.even), withPlainNan(value.odd)};
  }

  static HWY_INLINE Value loadScaled(const Element* from, Value scale) {
    const Value value = load(from);
    return widen(rounded({hn::Mul(value.even, scale.even), hn::Mul(value.odd, scale.odd)}));
  }

  static HWY_INLINE Value broadcast(float value) {
    const auto all = withPlainNan(hn::Set(FloatTag(), value));
    return {all, all};
  }

  static HWY_INLINE Value divide(Value value, Value divisor) {
    return {hn::Div(value.even, divisor.even), hn::Div(value.odd, divisor.odd)};
  }

  static HWY_INLINE void store(Value value, Element* to) { hn::StoreU(rounded(value), D(), to); }

  static HWY_INLINE void storeAccumulator(Value value, float* to) {
    hn::StoreInterleaved2(value.even, value.odd, FloatTag(), to);
  }

  template <class Fold>
  static HWY_INLINE Value fold(Value a, Value b) {
    return {Fold::fold(a.even, b.even), Fold::fold(a.odd, b.odd)};
  }

 private:
  using Elements = hn::Vec<D>;

  static HWY_INLINE Value widen(Elements elements) {
    const auto pairs = hn::BitCast(WordTag(), elements);
    const auto odd = hn::And(pairs, hn::Set(WordTag(), 0xffff0000u));
    return {hn::BitCast(FloatTag(), hn::ShiftLeft<16>(pairs)), hn::BitCast(FloatTag(), odd)};
  }

  static HWY_INLINE FloatVec withPlainNan(FloatVec value) {
    const auto nan = hn::BitCast(FloatTag(), hn::Set(WordTag(), 0x7fc00000u));
    return hn::IfThenElse(hn::IsNaN(value), nan, value);
  }

  /// Nearest, ties to even: with the upper and the lower halves of all elements in a register each,
  /// the upper half goes up if lower + 0x7fff + (upper & 1) carries. AverageRound(x, y) is
  /// (x + y + 1) / 2 without loss, so that its top bit is that carry for y = 0x7ffe | (upper & 1).
  static HWY_INLINE Elements rounded(Value value) {
    const D d;
    const auto even = hn::BitCast(WordTag(), value.even);
    const auto odd = hn::BitCast(WordTag(), value.odd);
    const auto upper = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<16>(even)));
    const auto lower = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<16>(odd)), hn::BitCast(d, even));
    const auto addend = hn::Or(hn::And(upper, hn::Set(d, 1)), hn::Set(d, 0x7ffe));
    return hn::Add(upper, hn::ShiftRight<15>(hn::AverageRound(lower, addend)));
  }
};

// ---- The loop -----------------------------------------------------------------------------------

/// Values that each iteration folds before it turns to the next source: four registers, enough
/// independent work to hide the latency of an addition or a conversion. With eight, bfloat16's
/// accumulators were spilled to the stack.
template <class Lanes>
inline constexpr std::size_t kUnroll = 4 / Lanes::kRegisters;

/// What an iteration needs beside the pointers, broadcast once per call.
template <class Lanes>
struct Factors {
  typename Lanes::Value scale;
  typename Lanes::Value divisor;
};

template <class Lanes, class Fold>
HWY_INLINE Factors<Lanes> factorsOf(const CombineArgs& args) {
  Factors<Lanes> factors{};
  if constexpr (Fold::kIsSum) {
    using T = typename Lanes::Accumulator;
    if (args.scale != nullptr) {
      factors.scale = Lanes::broadcast(*static_cast<const T*>(args.scale));
    }
    if constexpr (hwy::IsFloat<T>()) {
      factors.divisor = Lanes::broadcast(static_cast<T>(args.divisor));
    }
  }
  return factors;
}

/// False where an accumulator is stored as the element is, and both forms are one.
template <class Lanes>
inline constexpr bool kHasWideAccumulator = sizeof(typename Lanes::Accumulator) >
                                            sizeof(typename Lanes::Element);

template <class Lanes, std::size_t kCount>
struct Block {
  typename Lanes::Value values[kCount];
};

/// Reads `kCount` registers of elements from element `first` of `source` on.
template <class Lanes, class Fold, std::size_t kCount>
HWY_INLINE Block<Lanes, kCount> readBlock(const Operand& source,
                                          std::size_t first,
                                          const Factors<Lanes>& factors) {
  const auto* elements = static_cast<const typename Lanes::Element*>(source.data) + first;
  Block<Lanes, kCount> block;
  if constexpr (kHasWideAccumulator<Lanes>) {
    if (source.form == Form::kAccumulator) {
      const auto* sums = static_cast<const float*>(source.data) + first;
      for (std::size_t i = 0; i < kCount; ++i) {
        block.values[i] = Lanes::loadAccumulator(sums + i * Lanes::kElems);
      }
      return block;
    }
  }
  if constexpr (Fold::kIsSum) {
    if (source.form == Form::kScaled) {
      for (std::size_t i = 0; i < kCount; ++i) {
        block.values[i] = Lanes::loadScaled(elements + i * Lanes::kElems, factors.scale);
      }
      return block;
    }
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    block.values[i] = Lanes::load(elements + i * Lanes::kElems);
  }
  return block;
}

template <class Lanes, std::size_t kCount>
HWY_INLINE void writeBlock(const Block<Lanes, kCount>& block,
                           const Target& target,
                           std::size_t first) {
  if constexpr (kHasWideAccumulator<Lanes>) {
    if (target.form == Form::kAccumulator) {
      auto* sums = static_cast<float*>(target.data) + first;
      for (std::size_t i = 0; i < kCount; ++i) {
        Lanes::storeAccumulator(block.values[i], sums + i * Lanes::kElems);
      }
      return;
    }
  }
  auto* elements = static_cast<typename Lanes::Element*>(target.data) + first;
  for (std::size_t i = 0; i < kCount; ++i) {
    Lanes::store(block.values[i], elements + i * Lanes::kElems);
  }
}

template <class Lanes, class Fold, std::size_t kCount>
HWY_INLINE void foldInto(Block<Lanes, kCount>& block, const Block<Lanes, kCount>& next) {
  for (std::size_t i = 0; i < kCount; ++i) {
    block.values[i] = Lanes::template fold<Fold>(block.values[i], next.values[i]);
  }
}

template <class Lanes, class Fold, std::size_t kCount>
HWY_INLINE void divideBlock(Block<Lanes, kCount>& block,
                            const CombineArgs& args,
                            const Factors<Lanes>& factors) {
  if constexpr (Fold::kIsSum && hwy::IsFloat<typename Lanes::Accumulator>()) {
    if (args.divisor == 0) return;
    for (auto& value : block.values)
      value = Lanes::divide(value, factors.divisor);
  }
}

/// Folds all sources and writes all targets for `kCount` registers of elements.
template <class Lanes, class Fold, std::size_t kCount>
HWY_INLINE void combineBlock(const CombineArgs& args,
                             std::size_t first,
                             const Factors<Lanes>& factors) {
  const Operand* sources = args.sources.data();
  const std::size_t sourceCount = args.sources.size();
  auto block = readBlock<Lanes, Fold, kCount>(sources[0], first, factors);
  for (std::size_t s = 1; s < sourceCount; ++s) {
    foldInto<Lanes, Fold, kCount>(block,
                                  readBlock<Lanes, Fold, kCount>(sources[s], first, factors));
  }
  divideBlock<Lanes, Fold, kCount>(block, args, factors);
  const Target* targets = args.targets.data();
  const std::size_t targetCount = args.targets.size();
  for (std::size_t t = 0; t < targetCount; ++t)
    writeBlock<Lanes, kCount>(block, targets[t], first);
}

/// The last elements, fewer than a register holds, by way of buffers on the stack: memory outside
/// the ranges is neither read nor written.
template <class Lanes, class Fold>
HWY_INLINE void combineTail(const CombineArgs& args,
                            std::size_t first,
                            const Factors<Lanes>& factors) {
  constexpr std::size_t kSlotBytes = Lanes::kElems * sizeof(typename Lanes::Accumulator);
  HWY_ALIGN unsigned char slot[kSlotBytes] = {};
  const std::size_t count = args.elems - first;
  const auto bytesOf = [](Form form) {
    return form == Form::kAccumulator ? sizeof(typename Lanes::Accumulator)
                                      : sizeof(typename Lanes::Element);
  };
  const auto read = [&](const Operand& source) {
    const std::size_t bytes = bytesOf(source.form);
    const auto* from = static_cast<const unsigned char*>(source.data) + first * bytes;
    __builtin_memcpy(slot, from, count * bytes);
    return readBlock<Lanes, Fold, 1>(Operand{slot, source.form}, 0, factors);
  };
  const Operand* sources = args.sources.data();
  const std::size_t sourceCount = args.sources.size();
  auto block = read(sources[0]);
  for (std::size_t s = 1; s < sourceCount; ++s)
    foldInto<Lanes, Fold, 1>(block, read(sources[s]));
  divideBlock<Lanes, Fold, 1>(block, args, factors);
  const Target* targets = args.targets.data();
  const std::size_t targetCount = args.targets.size();
  for (std::size_t t = 0; t < targetCount; ++t) {
    writeBlock<Lanes, 1>(block, Target{slot, targets[t].form}, 0);
    const std::size_t bytes = bytesOf(targets[t].form);
    auto* to = static_cast<unsigned char*>(targets[t].data) + first * bytes;
    __builtin_memcpy(to, slot, count * bytes);
  }
}

/// The common call: two native sources, one native target or two, nothing else to do. Pointers stay
/// in registers, and no form is looked up.
/// @return the elements done, all but fewer than an iteration's
template <class Lanes, class Fold, std::size_t kTargets>
HWY_INLINE std::size_t combinePair(const CombineArgs& args) {
  using Element = typename Lanes::Element;
  constexpr std::size_t kValues = 4;
  constexpr std::size_t kStride = kValues * Lanes::kElems;
  const auto* left = static_cast<const Element*>(args.sources.data()[0].data);
  const auto* right = static_cast<const Element*>(args.sources.data()[1].data);
  auto* to = static_cast<Element*>(args.targets.data()[0].data);
  auto* alsoTo = static_cast<Element*>(args.targets.data()[kTargets - 1].data);
  const std::size_t end = args.elems - args.elems % kStride;
  for (std::size_t first = 0; first < end; first += kStride) {
    Block<Lanes, kValues> block;
    for (std::size_t i = 0; i < kValues; ++i) {
      const std::size_t at = first + i * Lanes::kElems;
      block.values[i] = Lanes::template fold<Fold>(Lanes::load(left + at), Lanes::load(right + at));
    }
    for (std::size_t i = 0; i < kValues; ++i) {
      Lanes::store(block.values[i], to + first + i * Lanes::kElems);
      if constexpr (kTargets == 2) {
        Lanes::store(block.values[i], alsoTo + first + i * Lanes::kElems);
      }
    }
  }
  return end;
}

HWY_INLINE bool isAllNative(const CombineArgs& args) {
  const std::size_t sourceCount = args.sources.size();
  const std::size_t targetCount = args.targets.size();
  for (std::size_t s = 0; s < sourceCount; ++s) {
    if (args.sources.data()[s].form != Form::kNative) return false;
  }
  for (std::size_t t = 0; t < targetCount; ++t) {
    if (args.targets.data()[t].form != Form::kNative) return false;
  }
  return true;
}

template <class Lanes, class Fold>
void combine(const CombineArgs& args) noexcept {
  const auto factors = factorsOf<Lanes, Fold>(args);
  constexpr std::size_t kStride = kUnroll<Lanes> * Lanes::kElems;
  std::size_t first = 0;
  const std::size_t targetCount = args.targets.size();
  if (args.sources.size() == 2 && targetCount <= 2 && args.divisor == 0 && isAllNative(args)) {
    first =
        targetCount == 1 ? combinePair<Lanes, Fold, 1>(args) : combinePair<Lanes, Fold, 2>(args);
  }
  for (; args.elems - first >= kStride; first += kStride) {
    combineBlock<Lanes, Fold, kUnroll<Lanes>>(args, first, factors);
  }
  for (; args.elems - first >= Lanes::kElems; first += Lanes::kElems) {
    combineBlock<Lanes, Fold, 1>(args, first, factors);
  }
  if (first < args.elems) combineTail<Lanes, Fold>(args, first, factors);
}

// ---- The table ----------------------------------------------------------------------------------

/// Average and premulsum differ from sum only in what CombineArgs says.
template <class SumLanes, class MinLanes, class MaxLanes>
CombineFn chooseFold(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
    case ReduceOp::kPreMulSum:
      return &combine<SumLanes, AddFold>;
    case ReduceOp::kProd:
      return &combine<SumLanes, MultiplyFold>;
    case ReduceOp::kMin:
      return &combine<MinLanes, MinFold>;
    case ReduceOp::kMax:
      return &combine<MaxLanes, MaxFold>;
  }
  return nullptr;
}

template <class T>
CombineFn chooseForInteger(ReduceOp op) {
  // There is no vector division of integers; the scalar loop multiplies 64-bit words as fast.
  if (op == ReduceOp::kAvg) return nullptr;
  return chooseFold<PlainLanes<hwy::MakeUnsigned<T>>, PlainLanes<T>, PlainLanes<T>>(op);
}

template <class Float, class SumLanes>
CombineFn chooseForNarrowFloat(ReduceOp op) {
  return chooseFold<SumLanes, OrderedLanes<Float, false>, OrderedLanes<Float, true>>(op);
}

inline CombineFn chooseForBool(ReduceOp op) {
  const bool isOr = op == ReduceOp::kSum || op == ReduceOp::kMax;
  return isOr ? &combine<BoolLanes, MaxFold> : &combine<BoolLanes, MinFold>;
}

inline CombineFn chooseCombine(DataType type, ReduceOp op) {
  switch (type) {
    case DataType::kInt8:
      return chooseForInteger<std::int8_t>(op);
    case DataType::kUint8:
      return chooseForInteger<std::uint8_t>(op);
    case DataType::kInt16:
      return chooseForInteger<std::int16_t>(op);
    case DataType::kUint16:
      return chooseForInteger<std::uint16_t>(op);
    case DataType::kInt32:
      return chooseForInteger<std::int32_t>(op);
    case DataType::kUint32:
      return chooseForInteger<std::uint32_t>(op);
    case DataType::kInt64:
      return chooseForInteger<std::int64_t>(op);
    case DataType::kUint64:
      return chooseForInteger<std::uint64_t>(op);
    case DataType::kFloat16:
      return chooseForNarrowFloat<Float16, WidenedLanes<Float16Codec>>(op);
    case DataType::kBfloat16:
      return chooseForNarrowFloat<Bfloat16, Bfloat16Lanes>(op);
    case DataType::kFloat32:
      return chooseFold<PlainLanes<float>, PlainLanes<float>, PlainLanes<float>>(op);
    case DataType::kFloat64:
      return chooseFold<PlainLanes<double>, PlainLanes<double>, PlainLanes<double>>(op);
    case DataType::kFloat8E4m3:
      return chooseForNarrowFloat<Float8E4m3, WidenedLanes<Float8Codec<Float8E4m3>>>(op);
    case DataType::kFloat8E5m2:
      return chooseForNarrowFloat<Float8E5m2, WidenedLanes<Float8Codec<Float8E5m2>>>(op);
    case DataType::kBool:
      return chooseForBool(op);
  }
  return nullptr;
}

}  // namespace rondo::host::HWY_NAMESPACE
