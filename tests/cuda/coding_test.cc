// kernels/cuda/coding.h on the emulator against the host's loops: the same bytes and the same sums,
// and no thread steps on another one's memory.
#include "kernels/cuda/coding.h"

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

/// One value in each element's place, encoded on the host.
std::vector<std::byte> encodeOnHost(Codec codec,
                                    const std::vector<float>& values,
                                    const device::RunShape& shape) {
  const host::BlockCoder coder(codec, host::SimdTarget::kScalar);
  std::vector<std::byte> run(encodedBytes(codec, shape.blocks(), shape.elems));
  for (std::size_t index = 0; index < shape.blocks(); ++index) {
    const Span block = shape.block(index);
    coder.encode(values.data() + block.offset, block.elems,
                 host::BlockSpace::in(run.data(), codec, shape.blocks(), index, block.offset));
  }
  return run;
}

std::vector<float> sumOnHost(Codec codec,
                             const std::vector<std::byte>& run,
                             const device::RunShape& shape) {
  const host::BlockCoder coder(codec, host::SimdTarget::kScalar);
  std::vector<float> sums(shape.elems);
  for (std::size_t index = 0; index < shape.blocks(); ++index) {
    const Span block = shape.block(index);
    const auto place =
        host::EncodedBlock::in(run.data(), codec, shape.blocks(), index, block.offset);
    coder.decode(place, block.elems, sums.data() + block.offset);
    coder.addDecoded(place, block.elems, sums.data() + block.offset);
  }
  return sums;
}

void expectSame(Codec codec, const device::RunShape& shape, const emulator::Options& options) {
  constexpr unsigned kThreads = 64;
  const std::vector<float> values = makeValues(shape.elems);
  const std::vector<std::byte> expected = encodeOnHost(codec, values, shape);
  std::vector<std::byte> run(expected.size());
  std::vector<float> sums(shape.elems);
  emulator::Machine machine(options);
  machine.launch(
      {.name = "rank 0", .threads = kThreads, .sharedBytes = device::encodeSharedBytes(kThreads)},
      [&] {
        device::encodeRun(codec, values.data(), shape, run.data());
        device::syncBlock();
        device::decodeRun(codec, run.data(), shape, sums.data());
        device::addDecodedRun(codec, run.data(), shape, sums.data());
      });
  const emulator::Outcome outcome = machine.run();
  ASSERT_TRUE(outcome.finished) << outcome.report;
  ASSERT_EQ(run, expected);
  const std::vector<float> expectedSums = sumOnHost(codec, expected, shape);
  for (std::size_t i = 0; i < shape.elems; ++i) {
    if (std::isnan(expectedSums[i])) {
      ASSERT_TRUE(std::isnan(sums[i])) << i;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(sums[i]),
                std::bit_cast<std::uint32_t>(expectedSums[i]))
          << i;
    }
  }
}

TEST(DeviceCoding, GivesTheBytesOfTheHost) {
  for (const Codec codec : kAllCodecs) {
    for (const std::size_t blockElems : {32u, 48u, 256u}) {
      for (const std::size_t elems : {0u, 1u, 31u, 256u, 257u, 1000u}) {
        SCOPED_TRACE(::testing::Message()
                     << codecName(codec) << " blocks of " << blockElems << " elements " << elems);
        expectSame(codec, {elems, blockElems}, {});
      }
    }
  }
}

TEST(DeviceCoding, DoesSoInAnyOrderOfItsThreads) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    expectSame(Codec::kInt8, {1000, 48}, {.schedule = emulator::Schedule::kRandom, .seed = seed});
}

}  // namespace
}  // namespace rondo::testing
