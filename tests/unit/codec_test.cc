// Codecs: the loops of every usable instruction set against a naive definition of kernels/codec.h,
// byte for byte, and what docs/compression.md promises of them.
#include "kernels/codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/host/block_coder.h"
#include "kernels/host/float_blocks.h"

namespace rondo::testing {
namespace {

using host::BlockCoder;
using host::BlockSpace;
using host::EncodedBlock;
using host::SimdTarget;

constexpr Codec kAllCodecs[] = {
#define RONDO_VALUE(name, codeBytes, scaleBytes, text) Codec::k##name,
    RONDO_FOR_EACH_CODEC(RONDO_VALUE)
#undef RONDO_VALUE
};

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kDenormal = std::numeric_limits<float>::denorm_min();
constexpr float kMost = std::numeric_limits<float>::max();

// ---- The naive definition -----------------------------------------------------------------------

/// A block, encoded: each code in a word of its own.
struct NaiveBlock {
  float scale = 0;  // int8 only
  std::vector<int> codes;
  std::vector<float> decoded;
};

template <class Float>
NaiveBlock castNaively(const std::vector<float>& values) {
  NaiveBlock block;
  for (const float value : values) {
    const Float code = Float::fromFloat(value);
    block.codes.push_back(code.bits);
    block.decoded.push_back(code.toFloat());
  }
  return block;
}

/// In double, whose product and quotient of two floats, rounded to float, are rounded once.
NaiveBlock int8Naively(const std::vector<float>& values) {
  NaiveBlock block;
  double peak = 127.0 * std::ldexp(1.0, -126);
  bool finite = true;
  for (const float value : values) {
    finite = finite && std::isfinite(value);
    peak = std::max(peak, std::fabs(static_cast<double>(value)));
  }
  peak = std::min(peak, static_cast<double>(std::nextafter(kMost, 0.0f)));
  block.scale = finite ? static_cast<float>(peak / 127.0) : kNan;
  const auto inverse = static_cast<float>(127.0 / peak);
  for (const float value : values) {
    const auto product = static_cast<float>(static_cast<double>(value) * inverse);
    const int code = finite ? static_cast<int>(std::nearbyint(product)) : 0;
    block.codes.push_back(code & 0xff);
    block.decoded.push_back(
        static_cast<float>(static_cast<double>(code) * static_cast<double>(block.scale)));
  }
  return block;
}

NaiveBlock encodeNaively(Codec codec, const std::vector<float>& values) {
  switch (codec) {
    case Codec::kFloat16:
      return castNaively<Float16>(values);
    case Codec::kBfloat16:
      return castNaively<Bfloat16>(values);
    case Codec::kFloat8E4m3:
      return castNaively<Float8E4m3>(values);
    case Codec::kFloat8E5m2:
      return castNaively<Float8E5m2>(values);
    case Codec::kInt8:
      break;
  }
  return int8Naively(values);
}

// ---- Inputs -------------------------------------------------------------------------------------

struct Input {
  std::string name;
  std::vector<float> values;
};

std::vector<float> randomValues(std::size_t count,
                                unsigned seed,
                                int leastExponent,
                                int exponents) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) {
    const auto exponent = static_cast<int>(random() % static_cast<unsigned>(exponents));
    value = std::ldexp(normal(random), leastExponent + exponent);
  }
  return values;
}

/// `values` with the one at a place in its middle changed.
std::vector<float> withOne(std::vector<float> values, float other) {
  if (!values.empty()) values[values.size() / 2] = other;
  return values;
}

std::vector<Input> inputsOf(std::size_t count) {
  const std::vector<float> plain = randomValues(count, 3, 0, 1);
  std::vector<float> ties(count);
  for (std::size_t i = 0; i < count; ++i)  // 127 makes the scale 1
    ties[i] = i == 0 ? 127.0f : static_cast<float>(static_cast<int>(i % 250) - 125) + 0.5f;
  return {
      {"random", plain},
      {"of all magnitudes", randomValues(count, 5, -149, 276)},
      {"around what fp8 and fp16 hold", randomValues(count, 6, -30, 48)},
      {"zero", std::vector<float>(count, 0.0f)},
      {"negative zero", std::vector<float>(count, -0.0f)},
      {"constant", std::vector<float>(count, 0.3f)},
      {"denormal", std::vector<float>(count, 5 * kDenormal)},
      {"among denormals a number", withOne(std::vector<float>(count, -kDenormal), 1e-36f)},
      {"outlier", withOne(std::vector<float>(count, 1e-3f), -1e6f)},
      {"largest", withOne(plain, kMost)},
      {"least", withOne(plain, -kMost)},
      {"ties", ties},
      {"infinity", withOne(plain, kInfinity)},
      {"negative infinity", withOne(plain, -kInfinity)},
      {"nan", withOne(plain, kNan)},
      {"negative nan among zeros", withOne(std::vector<float>(count, 0.0f), -kNan)},
  };
}

// ---- Comparison ---------------------------------------------------------------------------------

bool sameFloat(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

/// A block in memory that belongs to nobody else, at an odd place.
class Block {
 public:
  Block(Codec codec, std::size_t elems)
      : codec_(codec),
        elems_(elems),
        memory_(kBefore + 4 + elems * codeBytes(codec) + 64, kGuard) {}

  BlockSpace space() { return {memory_.data(), memory_.data() + kBefore}; }

  EncodedBlock block() const { return {memory_.data(), memory_.data() + kBefore}; }

  float scale() const {
    float scale = 0;
    std::memcpy(&scale, memory_.data(), sizeof scale);
    return scale;
  }

  int code(std::size_t elem) const {
    const std::byte* at = memory_.data() + kBefore + elem * codeBytes(codec_);
    const int low = std::to_integer<int>(at[0]);
    return codeBytes(codec_) == 1 ? low : low | std::to_integer<int>(at[1]) << 8;
  }

  /// Whether nothing beside scale and codes was written.
  bool guarded() const {
    const std::size_t end = kBefore + elems_ * codeBytes(codec_);
    for (std::size_t i = scaleBytes(codec_); i < memory_.size(); ++i) {
      if ((i < kBefore || i >= end) && memory_[i] != kGuard) return false;
    }
    return true;
  }

 private:
  static constexpr std::byte kGuard{0xa5};
  static constexpr std::size_t kBefore = 18;

  Codec codec_;
  std::size_t elems_;
  std::vector<std::byte> memory_;
};

void expectNaive(const BlockCoder& coder, const std::vector<float>& values) {
  const NaiveBlock expected = encodeNaively(coder.codec(), values);
  Block block(coder.codec(), values.size());
  coder.encode(values.data(), values.size(), block.space());
  ASSERT_TRUE(block.guarded());
  if (scaleBytes(coder.codec()) > 0) {
    ASSERT_TRUE(sameFloat(block.scale(), expected.scale)) << block.scale() << expected.scale;
  }
  // One float more than the block has, which must stay.
  std::vector<float> decoded(values.size() + 1, 42.0f);
  coder.decode(block.block(), values.size(), decoded.data());
  std::vector<float> sums = decoded;
  coder.addDecoded(block.block(), values.size(), sums.data());
  bool finite = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_TRUE(sameFloat(decoded[i], expected.decoded[i]))
        << i << ": " << values[i] << " became " << decoded[i] << ", not " << expected.decoded[i];
    ASSERT_TRUE(sameFloat(sums[i], expected.decoded[i] + expected.decoded[i])) << i;
    if (!std::isnan(values[i])) {  // the payload of a NaN is not promised
      ASSERT_EQ(block.code(i), expected.codes[i]) << i << ": " << values[i];
    }
    finite = finite && std::isfinite(decoded[i]);
  }
  EXPECT_EQ(decoded.back(), 42.0f);
  EXPECT_EQ(sums.back(), 42.0f);
  EXPECT_EQ(coder.decodedNonFinite(block.block(), decoded.data(), values.size()), !finite);
}

TEST(Codec, EveryInstructionSetGivesTheNaiveBytes) {
  for (const SimdTarget target : host::kAllSimdTargets) {
    if (!host::simdTargetUsable(target)) {
      std::printf("skipped %s, which this processor has not\n",
                  std::string(host::simdTargetName(target)).c_str());
      continue;
    }
    for (const Codec codec : kAllCodecs) {
      const BlockCoder coder(codec, target);
      for (const std::size_t count :
           {0u, 1u, 2u, 7u, 15u, 16u, 31u, 32u, 33u, 63u, 64u, 65u, 100u, 256u, 261u, 1027u}) {
        for (const Input& input : inputsOf(count)) {
          SCOPED_TRACE(::testing::Message()
                       << host::simdTargetName(target) << " " << codecName(codec) << " " << count
                       << " " << input.name);
          ASSERT_NO_FATAL_FAILURE(expectNaive(coder, input.values));
        }
      }
    }
  }
}

TEST(Codec, Int8ErrsByHalfAScaleAtMost) {
  const BlockCoder coder(Codec::kInt8, host::bestSimdTarget());
  for (const Input& input : inputsOf(256)) {
    SCOPED_TRACE(input.name);
    Block block(Codec::kInt8, input.values.size());
    coder.encode(input.values.data(), input.values.size(), block.space());
    if (std::isnan(block.scale())) continue;
    std::vector<float> decoded(input.values.size());
    coder.decode(block.block(), decoded.size(), decoded.data());
    for (std::size_t i = 0; i < decoded.size(); ++i) {
      const double error = std::fabs(static_cast<double>(input.values[i]) - decoded[i]);
      const double slack = std::fabs(static_cast<double>(input.values[i])) * 0x1p-21;
      ASSERT_LE(error, static_cast<double>(block.scale()) / 2 + slack) << input.values[i];
    }
  }
}

TEST(Codec, ANonFiniteBlockIsNanThroughout) {
  const BlockCoder coder(Codec::kInt8, host::bestSimdTarget());
  std::vector<float> values(40, 1.0f);
  values[39] = kInfinity;
  Block block(Codec::kInt8, values.size());
  coder.encode(values.data(), values.size(), block.space());
  std::vector<float> decoded(values.size());
  coder.decode(block.block(), values.size(), decoded.data());
  for (const float value : decoded)
    EXPECT_TRUE(std::isnan(value));
}

/// The table of the page for fp16; a finite number that is too large becomes infinity, which is
/// reported as such.
TEST(Codec, HalvesAreRoundedAsThePageSays) {
  const BlockCoder coder(Codec::kFloat16, host::bestSimdTarget());
  const std::vector<float> values = {65519.0f, 65520.0f, 1e5f, 1e-8f, kNan, -0.0f};
  Block block(Codec::kFloat16, values.size());
  coder.encode(values.data(), values.size(), block.space());
  std::vector<float> decoded(values.size());
  coder.decode(block.block(), values.size(), decoded.data());
  EXPECT_EQ(decoded[0], 65504.0f);
  EXPECT_EQ(decoded[1], kInfinity);
  EXPECT_EQ(decoded[2], kInfinity);
  EXPECT_EQ(decoded[3], 0.0f);
  EXPECT_TRUE(std::isnan(decoded[4]));
  EXPECT_TRUE(decoded[5] == 0.0f && std::signbit(decoded[5]));
  EXPECT_TRUE(coder.decodedNonFinite(block.block(), decoded.data(), decoded.size()));
}

// ---- Runs ---------------------------------------------------------------------------------------

TEST(Codec, BlocksOfARunLieAsDrawn) {
  std::byte* const run = nullptr;
  const auto distance = [&](const std::byte* at) { return at - run; };
  const auto block = BlockSpace::in(run, Codec::kInt8, 3, 2, 500);
  EXPECT_EQ(distance(block.scale), 8);
  EXPECT_EQ(distance(block.codes), 12 + 500);
  EXPECT_EQ(distance(BlockSpace::in(run, Codec::kBfloat16, 3, 2, 500).codes), 1000);
  EXPECT_EQ(encodedBytes(Codec::kInt8, 3, 600), 612u);
}

// ---- Elements of other types --------------------------------------------------------------------

template <class Float>
void expectOverflowAtItsBits() {
  const auto reaches = std::bit_cast<float>(kOverflowBits<Float>);
  const auto below = std::bit_cast<float>(kOverflowBits<Float> - 1);
  EXPECT_FALSE(std::isfinite(Float::fromFloat(reaches).toFloat())) << reaches;
  EXPECT_TRUE(std::isfinite(Float::fromFloat(below).toFloat())) << below;
}

TEST(FloatForm, OverflowBeginsWhereRoundingSaysSo) {
  expectOverflowAtItsBits<Float16>();
  expectOverflowAtItsBits<Bfloat16>();
  expectOverflowAtItsBits<Float8E4m3>();
  expectOverflowAtItsBits<Float8E5m2>();
  const host::FloatForm halves(DataType::kFloat16, host::bestSimdTarget());
  const host::FloatForm floats(DataType::kFloat32, host::bestSimdTarget());
  std::vector<float> values(100, 1.0f);
  values[99] = -65520.0f;
  EXPECT_TRUE(halves.overflows(values.data(), values.size()));
  EXPECT_FALSE(halves.overflows(values.data(), 99));
  EXPECT_FALSE(floats.overflows(values.data(), values.size()));
  values[5] = kNan;
  EXPECT_TRUE(floats.overflows(values.data(), values.size()));
}

template <class Element>
void expectConverted(DataType type, const std::vector<float>& values) {
  const host::FloatForm form(type, host::bestSimdTarget());
  std::vector<Element> elements(values.size());
  form.narrow(values.data(), values.size(), elements.data());
  std::vector<float> widened(values.size());
  form.widen(elements.data(), elements.size(), widened.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if constexpr (kIsMinifloat<Element>) {
      EXPECT_EQ(elements[i].bits, Element::fromFloat(values[i]).bits);
      EXPECT_EQ(widened[i], elements[i].toFloat());
    } else {
      EXPECT_EQ(elements[i], static_cast<Element>(values[i]));
      EXPECT_EQ(widened[i], values[i]);
    }
  }
}

TEST(FloatForm, GoesToEveryTypeAndBack) {
  const std::vector<float> values = randomValues(77, 9, -6, 12);
  expectConverted<Float16>(DataType::kFloat16, values);
  expectConverted<Bfloat16>(DataType::kBfloat16, values);
  expectConverted<Float8E4m3>(DataType::kFloat8E4m3, values);
  expectConverted<Float8E5m2>(DataType::kFloat8E5m2, values);
  expectConverted<float>(DataType::kFloat32, values);
  expectConverted<double>(DataType::kFloat64, values);
  const host::FloatForm doubles(DataType::kFloat64, host::bestSimdTarget());
  const double between = 1.0 + 0x1p-25;  // rounded to nearest, not cut
  const double beyond = 1e300;
  float narrowed[2] = {0, 0};
  doubles.widen(&between, 1, &narrowed[0]);
  doubles.widen(&beyond, 1, &narrowed[1]);
  EXPECT_EQ(narrowed[0], 1.0f);
  EXPECT_EQ(narrowed[1], kInfinity);
}

}  // namespace
}  // namespace rondo::testing
