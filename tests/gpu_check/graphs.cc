// Do operations work in CUDA graphs: captured, replayed, and mixed with eager calls? Only a rank
// with a GPU of its own can be captured, so with one GPU there is one rank.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "src/cli/perf/collective_caller.h"
#include "tests/gpu_check/captured_graph.h"
#include "tests/gpu_check/rank_team.h"
#include "tests/gpu_check/section.h"

namespace rondo::gpucheck {

namespace {

using perf::CollectiveCaller;

constexpr std::uint32_t kFactor = 3;
constexpr int kCallsInGraph = 2;

/// A sum in place that multiplies each element by something known, even on one rank.
perf::Case growingSum(std::size_t count) {
  perf::Case what;
  what.type = DataType::kUint32;
  what.op = ReduceOp::kPreMulSum;
  what.count = count;
  return what;
}

std::vector<std::uint32_t> beginning(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  for (std::size_t at = 0; at < count; ++at)
    values[at] = static_cast<std::uint32_t>(at) + 1;
  return values;
}

/// A rank's part of the check.
struct Part {
  GpuBuffer buffer;
  std::vector<CapturedGraph> graph;  // none, or one
};

class GraphCheck {
 public:
  GraphCheck(GpuTeam& team, std::size_t count) : team_(team), what_(growingSum(count)) {}

  /// @param mode of the capture: 0 forbids other threads what might disturb it, 1 the own one, 2
  ///   nobody
  Status run(int mode) {
    RONDO_RETURN_IF_ERROR(prepare());
    RONDO_RETURN_IF_ERROR(eager());
    RONDO_RETURN_IF_ERROR(capture(mode));
    for (int round = 0; round < 3; ++round)
      RONDO_RETURN_IF_ERROR(replay());
    RONDO_RETURN_IF_ERROR(eager());
    RONDO_RETURN_IF_ERROR(replay());
    return compare();
  }

 private:
  std::size_t bytes() const { return what_.count * sizeof(std::uint32_t); }

  Part& part(const GpuRank& rank) { return parts_[static_cast<std::size_t>(rank.rank)]; }

  Deadline deadline() const { return Deadline::within(2 * team_.patience()); }

  Status prepare() {
    const std::vector<std::uint32_t> values = beginning(what_.count);
    for (int number = 0; number < team_.ranks(); ++number) {
      Result<GpuBuffer> buffer = GpuBuffer::allocate(*team_.rank(number).gpu, bytes());
      RONDO_RETURN_IF_ERROR(buffer.status());
      parts_.push_back({*std::move(buffer), {}});
    }
    return team_.run([&](GpuRank& rank) -> Status {
      const Gpu& gpu = *rank.gpu;
      RONDO_RETURN_IF_ERROR(
          gpu.check(gpu.driver->copyToDevice(part(rank).buffer.address(), values.data(), bytes(),
                                             rank.stream.get()),
                    "copying to it"));
      return rank.stream.await(deadline());
    });
  }

  Status call(const GpuRank& rank) {
    const auto factor = std::as_bytes(std::span(&kFactor, 1));
    const Result<CollectiveCaller> caller = CollectiveCaller::create(what_, factor, rank.comm);
    RONDO_RETURN_IF_ERROR(caller.status());
    std::byte* const values = part(rank).buffer.at(0);
    return caller->status(caller->call(values, values, rank.stream.get()));
  }

  Status eager() {
    ++calls_;
    return team_.run([&](GpuRank& rank) -> Status {
      RONDO_RETURN_IF_ERROR(call(rank));
      return rank.stream.await(deadline());
    });
  }

  Status capture(int mode) {
    return team_.run([&](GpuRank& rank) -> Status {
      Result<CapturedGraph> graph = CapturedGraph::capture(
          *rank.gpu, rank.stream.get(), mode, kCallsInGraph, [&] { return call(rank); });
      RONDO_RETURN_IF_ERROR(graph.status());
      part(rank).graph.push_back(*std::move(graph));
      return {};
    });
  }

  Status replay() {
    calls_ += kCallsInGraph;
    return team_.run([&](GpuRank& rank) -> Status {
      RONDO_RETURN_IF_ERROR(part(rank).graph.front().launch(rank.stream.get()));
      return rank.stream.await(deadline());
    });
  }

  Status compare() {
    std::vector<std::uint32_t> expected = beginning(what_.count);
    for (int call = 0; call < calls_; ++call) {
      for (std::uint32_t& value : expected)
        value *= kFactor * static_cast<std::uint32_t>(team_.ranks());
    }
    return team_.run([&](GpuRank& rank) -> Status {
      std::vector<std::uint32_t> found(what_.count);
      const Gpu& gpu = *rank.gpu;
      RONDO_RETURN_IF_ERROR(
          gpu.check(gpu.extra->copyToHost(found.data(), part(rank).buffer.address(), bytes(),
                                          rank.stream.get()),
                    "copying from it"));
      RONDO_RETURN_IF_ERROR(rank.stream.await(deadline()));
      const auto wrong = std::ranges::mismatch(found, expected);
      if (wrong.in1 == found.end()) return {};
      return Status::internal("element {} is {}, must be {}", wrong.in1 - found.begin(), *wrong.in1,
                              *wrong.in2);
    });
  }

  GpuTeam& team_;
  perf::Case what_;
  std::vector<Part> parts_;
  int calls_ = 0;
};

/// Ranks that share a GPU are refused, and go on afterwards.
Status checkRefusal(const Section& section) {
  Gpus one = section.gpus;
  one.all.resize(1);
  Result<GpuTeam> team = GpuTeam::make(one, {.ranks = 2, .patience = section.extent.patience});
  RONDO_RETURN_IF_ERROR(team.status());
  return team->run([&](GpuRank& rank) -> Status {
    Status refused;
    const auto call = [&] {
      refused = perf::statusOf(rondoBarrier(rank.comm, rank.stream.get()), rank.comm);
      return Status();
    };
    RONDO_RETURN_IF_ERROR(
        CapturedGraph::capture(*rank.gpu, rank.stream.get(), kCaptureRelaxed, 1, call));
    if (refused.code() != StatusCode::kNotSupported)
      return Status::internal("the capture was not refused: {}", refused.message());
    const rondoResult_t after = rondoBarrier(rank.comm, rank.stream.get());
    RONDO_RETURN_IF_ERROR(perf::statusOf(after, rank.comm));
    return rank.stream.await(Deadline::within(2 * team->patience()));
  });
}

}  // namespace

void checkGraphs(const Section& section) {
  constexpr std::size_t kCounts[] = {3, 100'001};  // one for each protocol
  constexpr int kModes[] = {kCaptureGlobal, kCaptureThreadLocal, kCaptureRelaxed};
  const int ranks = std::min(static_cast<int>(section.gpus.all.size()), 8);
  if (ranks == 1) {
    section.report.partNotRun(
        "graphs of several ranks",
        "there is one GPU, and a rank that shares its GPU cannot be captured");
  }
  section.report.expect(1 + static_cast<int>(std::size(kCounts) * std::size(kModes)));
  for (const std::size_t count : kCounts) {
    for (const int mode : kModes) {
      if (section.outOfTime()) return;
      const std::string text =
          fmt::format("{} ranks, {} elements, capture mode {}", ranks, count, mode);
      section.report.doing(text);
      Result<GpuTeam> team =
          GpuTeam::make(section.gpus, {.ranks = ranks, .patience = section.extent.patience});
      section.report.check(team.ok() ? GraphCheck(*team, count).run(mode) : team.status(), text);
    }
  }
  section.report.doing("ranks that share a GPU");
  section.report.check(checkRefusal(section), "ranks that share a GPU are refused");
}

}  // namespace rondo::gpucheck
