// kernels/cuda/coding.h on the emulator against the host's loops: the same bytes, and the same
// values of them.
#include "kernels/cuda/coding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/host/block_coder.h"
#include "tests/cuda/emulator/machine.h"

namespace rondo::testing {
namespace {

constexpr Codec kAllCodecs[] = {
#define RONDO_VALUE(name, codeBytes, scaleBytes, text) Codec::k##name,
    RONDO_FOR_EACH_CODEC(RONDO_VALUE)
#undef RONDO_VALUE
};

/// Floats of all magnitudes, with blocks of zeros, of denormals, and with an outlier. No NaN, whose
/// codes may differ.
std::vector<float> makeValues(std::size_t elems) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> values(elems);
  for (std::size_t i = 0; i < elems; ++i) {
    values[i] = normal(random) * std::ldexp(1.0f, static_cast<int>(i % 40) - 20);
    if (i >= 64 && i < 96) values[i] = 0;
    if (i >= 96 && i < 128) values[i] = normal(random) * std::numeric_limits<float>::denorm_min();
    if (i == 200) values[i] = std::numeric_limits<float>::max();
    if (i == 300) values[i] = std::numeric_limits<float>::infinity();
  }
  return values;
}

/// Encodes and decodes one block by a single thread. @return the codes, and what they stand for
std::vector<float> onDevice(Codec codec,
                            const std::vector<float>& values,
                            const Int8Codec::Scale& scale,
                            bool finite,
                            std::vector<std::byte>& codes) {
  std::vector<float> decoded(values.size());
  emulator::Machine machine;
  machine.launch({.name = "rank 0", .threads = 1}, [&] {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint16_t code = device::encodeElement(codec, values[i], scale.inverse, finite);
      std::memcpy(codes.data() + i * codeBytes(codec), &code, codeBytes(codec));
      decoded[i] = device::decodeElement(codec, code, scale.scale);
    }
  });
  const emulator::Outcome outcome = machine.run();
  EXPECT_TRUE(outcome.finished) << outcome.report;
  return decoded;
}

void expectSame(Codec codec, const std::vector<float>& values) {
  const host::BlockCoder coder(codec, host::SimdTarget::kScalar);
  std::vector<std::byte> expected(values.size() * codeBytes(codec));
  std::byte scale[sizeof(float)] = {};
  coder.encode(values.data(), values.size(), {scale, expected.data()});
  std::vector<float> expectedValues(values.size());
  coder.decode({scale, expected.data()}, values.size(), expectedValues.data());
  std::uint32_t peak = 0;
  for (const float value : values)
    peak = std::max(peak, magnitudeBits(value));
  std::vector<std::byte> codes(expected.size());
  const std::vector<float> decoded =
      onDevice(codec, values, Int8Codec::scaleOf(peak), Int8Codec::isFinite(peak), codes);
  ASSERT_EQ(codes, expected);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(expectedValues[i])) {
      ASSERT_TRUE(std::isnan(decoded[i])) << i;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(decoded[i]),
                std::bit_cast<std::uint32_t>(expectedValues[i]))
          << i;
    }
  }
}

TEST(DeviceCoding, GivesTheBytesOfTheHost) {
  const std::vector<float> values = makeValues(1000);
  for (const Codec codec : kAllCodecs) {
    for (const std::size_t blockElems : {1U, 16U, 48U, 256U}) {
      for (std::size_t first = 0; first < values.size(); first += blockElems) {
        SCOPED_TRACE(::testing::Message() << codecName(codec) << " from element " << first);
        const std::size_t end = std::min(values.size(), first + blockElems);
        expectSame(codec, {values.begin() + static_cast<std::ptrdiff_t>(first),
                           values.begin() + static_cast<std::ptrdiff_t>(end)});
      }
    }
  }
}

}  // namespace
}  // namespace rondo::testing
