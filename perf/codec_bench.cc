// The codecs' loops against the speed of memcpy in the same process, on blocks of the usual size.
//
//   codec_bench                                   every codec, the widest usable instruction set
//   codec_bench --benchmark_filter='scalar/.*'    one instruction set
//
// memcpy of S bytes moves 2 S, so loops that are limited by memory take the time of a memcpy of
// half the bytes that they touch: encoding reads 4 bytes per element and writes the code, decoding
// the other way round; decoding and accumulating reads the code, and reads and writes 4 bytes.
// `share` is that bound's time over the measured time. Both are measured in turns within each
// repetition, because the machine's speed drifts; use the medians.
#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "kernels/host/block_coder.h"
#include "perf/timing.h"

namespace rondo {

namespace {

using host::BlockCoder;
using host::SimdTarget;

constexpr std::size_t kCachedElems = 16 * 1024;
constexpr std::size_t kManyElems = 16 * 1024 * 1024;

enum class Work { kEncode, kDecode, kAddDecoded };

constexpr const char* kWorkNames[] = {"encode", "decode", "accumulate"};

/// Of calls with a buffer of `elems` elements.
template <class Body>
double secondsPerCallOn(std::size_t elems, const Body& body) {
  return secondsPerCall(elems == kCachedElems ? 32 : 1, [&] {
    body();
    benchmark::ClobberMemory();
  });
}

std::size_t touchedBytes(Codec codec, Work work, std::size_t elems) {
  const std::size_t floats = elems * sizeof(float) * (work == Work::kAddDecoded ? 2 : 1);
  return floats + encodedBytes(codec, elems / kDefaultBlockElems, elems);
}

void workOnRun(
    const BlockCoder& coder, Work work, std::size_t elems, float* values, std::byte* run) {
  const std::size_t blocks = elems / kDefaultBlockElems;
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t first = block * kDefaultBlockElems;
    const auto place = host::BlockSpace::in(run, coder.codec(), blocks, block, first);
    const host::EncodedBlock encoded{place.scale, place.codes};
    if (work == Work::kEncode) coder.encode(values + first, kDefaultBlockElems, place);
    if (work == Work::kDecode) coder.decode(encoded, kDefaultBlockElems, values + first);
    if (work == Work::kAddDecoded) coder.addDecoded(encoded, kDefaultBlockElems, values + first);
  }
}

/// Floats, a copy of them and their codes, each a cache line further from the start of its page
/// than the last, so that loads and stores at the same index do not share their low 12 address
/// bits.
class Buffers {
 public:
  explicit Buffers(std::size_t elems)
      : floatBytes_(elems * sizeof(float)), memory_(3 * (floatBytes_ + kPageBytes) + kPageBytes) {}

  float* values() { return reinterpret_cast<float*>(at(0)); }

  float* copy() { return reinterpret_cast<float*>(at(1)); }

  std::byte* run() { return at(2); }

 private:
  static constexpr std::size_t kPageBytes = 4096;

  std::byte* at(std::size_t index) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    const std::size_t toPage = (kPageBytes - address % kPageBytes) % kPageBytes;
    return memory_.data() + toPage + index * (floatBytes_ + 64);
  }

  std::size_t floatBytes_;
  std::vector<std::byte> memory_;
};

void measure(
    benchmark::State& state, Codec codec, SimdTarget target, Work work, std::size_t elems) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  Buffers buffers(elems);
  float* const values = buffers.values();
  for (std::size_t i = 0; i < elems; ++i)
    values[i] = normal(random);
  const BlockCoder coder(codec, target);
  workOnRun(coder, Work::kEncode, elems, values, buffers.run());
  std::vector<double> times;
  std::vector<double> copyTimes;
  for (auto unused : state) {
    (void)unused;
    copyTimes.push_back(secondsPerCallOn(
        elems, [&] { std::memcpy(buffers.copy(), values, elems * sizeof(float)); }));
    times.push_back(
        secondsPerCallOn(elems, [&] { workOnRun(coder, work, elems, values, buffers.run()); }));
    state.SetIterationTime(times.back());
    // Sums grow; none shall become infinite.
    if (work == Work::kAddDecoded) std::fill_n(values, elems, 0.0f);
  }
  const auto bytes = static_cast<double>(touchedBytes(codec, work, elems));
  const double copied = 2.0 * static_cast<double>(elems * sizeof(float));
  const double time = medianOf(times);
  const double bound = medianOf(copyTimes) * bytes / copied;
  state.counters["GB/s"] = bytes / time / 1e9;
  state.counters["bound GB/s"] = bytes / bound / 1e9;
  state.counters["share %"] = 100.0 * bound / time;
}

constexpr Codec kCodecs[] = {
#define RONDO_VALUE(name, codeBytes, scaleBytes, text) Codec::k##name,
    RONDO_FOR_EACH_CODEC(RONDO_VALUE)
#undef RONDO_VALUE
};

void registerAll() {
  for (const SimdTarget target : host::kAllSimdTargets) {
    if (!host::simdTargetUsable(target)) continue;
    for (const Codec codec : kCodecs) {
      for (const Work work : {Work::kEncode, Work::kDecode, Work::kAddDecoded}) {
        std::string name(host::simdTargetName(target));
        name.append("/").append(codecName(codec)).append("/");
        name.append(kWorkNames[static_cast<int>(work)]);
        for (const std::size_t elems : {kCachedElems, kManyElems}) {
          const bool cached = elems == kCachedElems;
          const std::string whole = name + (cached ? "/cached" : "/memory");
          benchmark::RegisterBenchmark(whole.c_str(), measure, codec, target, work, elems)
              ->UseManualTime()
              ->Iterations(cached ? 200 : 7);
        }
      }
    }
  }
}

}  // namespace

}  // namespace rondo

int main(int argc, char** argv) {
  rondo::registerAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
