// How long is the shortest operation: an all-reduce of 8 bytes, eager and in a graph.
#include <algorithm>
#include <chrono>
#include <iterator>

#include "src/cli/perf/collective_caller.h"
#include "tests/gpu_check/captured_graph.h"
#include "tests/gpu_check/check_call.h"
#include "tests/gpu_check/section.h"
#include "tests/gpu_check/timing.h"

namespace rondo::gpucheck {

namespace {

constexpr std::size_t kBytes = 8;
constexpr std::size_t kCount = kBytes / sizeof(float);

/// The ranks, and what they add.
class Bench {
 public:
  static Result<Bench> make(const Section& section, int ranks) {
    Result<GpuTeam> team =
        GpuTeam::make(section.gpus, {.ranks = ranks, .patience = section.extent.patience});
    RONDO_RETURN_IF_ERROR(team.status());
    Bench bench(*std::move(team));
    for (int rank = 0; rank < ranks; ++rank) {
      Result<GpuBuffer> buffer = GpuBuffer::allocate(section.gpus.ofRank(rank), kBytes);
      RONDO_RETURN_IF_ERROR(buffer.status());
      bench.buffers_.push_back(*std::move(buffer));
    }
    return bench;
  }

  GpuTeam& team() { return team_; }

  std::chrono::seconds patience() const { return team_.patience(); }

  Status queue(const GpuRank& rank) const {
    std::byte* const values = buffers_[static_cast<std::size_t>(rank.rank)].at(0);
    const rondoResult_t result = rondoAllReduce(values, values, kCount, rondoFloat32, rondoMax,
                                                rank.comm, rank.stream.get());
    return perf::statusOf(result, rank.comm);
  }

 private:
  explicit Bench(GpuTeam team) : team_(std::move(team)) {}

  GpuTeam team_;
  std::vector<GpuBuffer> buffers_;
};

Result<Timing> timeEager(Bench& bench, bool tiny) {
  return timeTeam(bench.team(), Repetitions::forBytes(kBytes, tiny),
                  [&](GpuRank& rank) { return bench.queue(rank); });
}

Status awaitRank(const Bench& bench, const GpuRank& rank) {
  return rank.stream.await(Deadline::within(2 * bench.patience()));
}

/// Each call alone, by the host's clock: from calling until the host knows that it is complete.
Result<Timing> timeAwaited(Bench& bench, bool tiny) {
  using Clock = std::chrono::steady_clock;
  const int calls = tiny ? 3 : 101;
  std::vector<double> seconds;  // of rank 0
  const Status outcome = bench.team().run([&](GpuRank& rank) -> Status {
    for (int call = 0; call < calls; ++call) {
      const auto begin = Clock::now();
      RONDO_RETURN_IF_ERROR(bench.queue(rank));
      RONDO_RETURN_IF_ERROR(awaitRank(bench, rank));
      if (rank.rank == 0)
        seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    }
    return {};
  });
  RONDO_RETURN_IF_ERROR(outcome);
  return summarise(std::move(seconds), {.batches = calls, .calls = 1});
}

using Graphs = std::vector<std::vector<CapturedGraph>>;  // by rank; one each

/// @param calls in each graph
Result<Graphs> captureAll(Bench& bench, int calls) {
  Graphs graphs(static_cast<std::size_t>(bench.team().ranks()));
  const Status warm = bench.team().run([&](GpuRank& rank) -> Status {
    RONDO_RETURN_IF_ERROR(bench.queue(rank));
    return awaitRank(bench, rank);
  });
  RONDO_RETURN_IF_ERROR(warm);
  const Status captured = bench.team().run([&](GpuRank& rank) -> Status {
    Result<CapturedGraph> graph = CapturedGraph::capture(
        *rank.gpu, rank.stream.get(), kCaptureRelaxed, calls, [&] { return bench.queue(rank); });
    RONDO_RETURN_IF_ERROR(graph.status());
    graphs[static_cast<std::size_t>(rank.rank)].push_back(*std::move(graph));
    return {};
  });
  RONDO_RETURN_IF_ERROR(captured);
  return graphs;
}

/// A call in a graph of many.
Result<Timing> timeInGraph(Bench& bench, bool tiny) {
  const int calls = tiny ? 2 : 50;
  const Result<Graphs> graphs = captureAll(bench, calls);
  RONDO_RETURN_IF_ERROR(graphs.status());
  const Repetitions repetitions{.batches = tiny ? 3 : 7, .calls = tiny ? 1 : 10};
  Result<Timing> timing = timeTeam(bench.team(), repetitions, [&](GpuRank& rank) {
    return (*graphs)[static_cast<std::size_t>(rank.rank)].front().launch(rank.stream.get());
  });
  RONDO_RETURN_IF_ERROR(timing.status());
  for (double* seconds : {&timing->medianSeconds, &timing->fastestSeconds, &timing->slowestSeconds})
    *seconds /= calls;
  timing->repetitions.calls *= calls;
  return timing;
}

using Measure = Result<Timing> (*)(Bench&, bool);

void measure(const Section& section, int ranks, std::string_view mode, Measure how) {
  if (section.outOfTime()) return;
  const std::string text = fmt::format("all_reduce of {} bytes, {} ranks, {}", kBytes, ranks, mode);
  section.report.doing(text);
  Result<Bench> bench = Bench::make(section, ranks);
  const Result<Timing> timing =
      bench.ok() ? how(*bench, section.extent.tiny) : Result<Timing>(bench.status());
  if (!timing.ok()) return section.report.check(timing.status(), text);
  section.report.row({{"operation", "all_reduce"},
                      {"size_bytes", kBytes},
                      {"ranks", ranks},
                      {"gpus", std::min(ranks, static_cast<int>(section.gpus.all.size()))},
                      {"mode", mode},
                      {"time", timing->json()}},
                     fmt::format("{}: {}", text, timing->text()));
}

}  // namespace

void measureLatency(const Section& section) {
  for (const int ranks : {2, 4, 8, 1}) {
    measure(section, ranks, "eager", timeEager);
    measure(section, ranks, "eager, each awaited by the host", timeAwaited);
  }
  const int alone = std::min(static_cast<int>(section.gpus.all.size()), 8);
  measure(section, alone, "in a graph", timeInGraph);
  if (alone < 2) {
    section.report.partNotRun(
        "several ranks in a graph",
        "there is one GPU, and a rank that shares its GPU cannot be captured");
  }
}

}  // namespace rondo::gpucheck
