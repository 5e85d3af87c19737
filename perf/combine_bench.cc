// The combine loops, 2 sources to 1 target, against the speed of memcpy in the same process.
//
//   combine_bench                                  every (type, operation), the widest usable
//   target combine_bench --benchmark_filter='avx2/.*'     one instruction set
//
// memcpy of S bytes moves 2 S, a 2 -> 1 combine moves 3 S, so a combine that is limited by memory
// takes 1.5 times memcpy. `share` is that bound's time over the measured time. The two are measured
// in turns within each repetition, because the machine's speed drifts; use the medians.
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "kernels/host/combine.h"
#include "perf/timing.h"

namespace rondo {

namespace {

using host::CombineFn;
using host::Operand;
using host::SimdTarget;
using host::Target;

constexpr std::size_t kBytes = 64 * 1024;
/// Calls per timing: about 100 us, long against the clock and short against a scheduler's slice.
constexpr int kCallsPerTiming = 32;

/// Three 64 KiB buffers, each a cache line further from the start of its page than the last, so
/// that loads and stores at the same index do not share their low 12 address bits.
class Buffers {
 public:
  explicit Buffers(DataType type) : memory_(3 * (kBytes + kPageBytes) + kPageBytes) {
    std::mt19937_64 random(1);
    for (auto& byte : memory_)
      byte = static_cast<unsigned char>(random());
    // Small magnitudes: no slow denormals, and no infinity or NaN, which some paths treat apart.
    for (std::size_t i = 0; isFloat(type) && i < memory_.size(); i += elementBytes(type)) {
      auto& top = memory_[i + elementBytes(type) - 1];
      top = static_cast<unsigned char>((top & 0x83u) | 0x38u);
    }
  }

  unsigned char* at(std::size_t index) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    const std::size_t toPage = (kPageBytes - address % kPageBytes) % kPageBytes;
    return memory_.data() + toPage + index * (kBytes + 64);
  }

 private:
  static constexpr std::size_t kPageBytes = 4096;

  std::vector<unsigned char> memory_;
};

template <class Body>
double secondsPerCallOf(const Body& body) {
  return secondsPerCall(kCallsPerTiming, [&] {
    body();
    benchmark::ClobberMemory();
  });
}

void combineTwo(benchmark::State& state, DataType type, ReduceOp op, SimdTarget target) {
  Buffers buffers(type);
  const CombineFn function = host::combineFunction(type, op, target);
  const Operand sources[] = {{buffers.at(0)}, {buffers.at(1)}};
  const Target targets[] = {{buffers.at(2)}};
  host::CombineArgs args{sources, targets, kBytes / elementBytes(type)};
  if (op == ReduceOp::kAvg) args.divisor = 2;
  std::vector<double> combineTimes;
  std::vector<double> copyTimes;
  for (auto unused : state) {
    (void)unused;
    copyTimes.push_back(
        secondsPerCallOf([&] { std::memcpy(buffers.at(2), buffers.at(0), kBytes); }));
    combineTimes.push_back(secondsPerCallOf([&] { function(args); }));
    state.SetIterationTime(combineTimes.back());
  }
  const double combineTime = medianOf(combineTimes);
  const double bound = 1.5 * medianOf(copyTimes);
  state.counters["GB/s"] = 3.0 * static_cast<double>(kBytes) / combineTime / 1e9;
  state.counters["bound GB/s"] = 3.0 * static_cast<double>(kBytes) / bound / 1e9;
  state.counters["share %"] = 100.0 * bound / combineTime;
}

constexpr DataType kTypes[] = {
#define RONDO_VALUE(name, type, bytes, text) DataType::k##name,
    RONDO_FOR_EACH_DATA_TYPE(RONDO_VALUE)
#undef RONDO_VALUE
};
constexpr ReduceOp kOps[] = {
#define RONDO_VALUE(name, text) ReduceOp::k##name,
    RONDO_FOR_EACH_REDUCE_OP(RONDO_VALUE)
#undef RONDO_VALUE
};

void registerAll() {
  for (const SimdTarget target : host::kAllSimdTargets) {
    if (!host::simdTargetUsable(target)) continue;
    for (const DataType type : kTypes) {
      for (const ReduceOp op : kOps) {
        if (!isReducible(type, op)) continue;
        std::string name(host::simdTargetName(target));
        name.append("/").append(dataTypeName(type)).append("/").append(reduceOpName(op));
        benchmark::RegisterBenchmark(name.c_str(), combineTwo, type, op, target)
            ->UseManualTime()
            ->Iterations(200);
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
