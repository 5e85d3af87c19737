#include "tests/gpu_check/timing.h"

#include <algorithm>

#include "src/cli/perf/collective_caller.h"

namespace rondo::gpucheck {

namespace {

constexpr double kMicros = 1e6;

Status repeat(int times, const std::function<Status()>& queue) {
  for (int call = 0; call < times; ++call)
    RONDO_RETURN_IF_ERROR(queue());
  return {};
}

/// Seconds of one call in a batch of them.
Result<double> timeBatch(const Gpu& gpu,
                         const GpuStream& stream,
                         int calls,
                         const std::function<Status()>& queue,
                         Deadline deadline) {
  Result<GpuEvent> begin = GpuEvent::create(gpu);
  RONDO_RETURN_IF_ERROR(begin.status());
  Result<GpuEvent> end = GpuEvent::create(gpu);
  RONDO_RETURN_IF_ERROR(end.status());
  RONDO_RETURN_IF_ERROR(begin->record(stream.get()));
  RONDO_RETURN_IF_ERROR(repeat(calls, queue));
  RONDO_RETURN_IF_ERROR(end->record(stream.get()));
  RONDO_RETURN_IF_ERROR(end->await(deadline));
  const Result<double> seconds = end->secondsSince(*begin);
  RONDO_RETURN_IF_ERROR(seconds.status());
  return *seconds / calls;
}

}  // namespace

Repetitions Repetitions::forBytes(std::size_t bytes, bool tiny) {
  if (tiny) return {.batches = 3, .calls = 2};
  if (bytes <= 64U << 10U) return {.batches = 7, .calls = 200};
  if (bytes <= 4U << 20U) return {.batches = 7, .calls = 50};
  return {.batches = 7, .calls = bytes <= 64U << 20U ? 10 : 5};
}

Json Timing::json() const {
  return {{"median_us", medianSeconds * kMicros},
          {"fastest_us", fastestSeconds * kMicros},
          {"slowest_us", slowestSeconds * kMicros},
          {"batches", repetitions.batches},
          {"calls_per_batch", repetitions.calls}};
}

std::string Timing::text() const {
  return fmt::format("{:.2f} us ({:.2f} to {:.2f}, {} x {})", medianSeconds * kMicros,
                     fastestSeconds * kMicros, slowestSeconds * kMicros, repetitions.batches,
                     repetitions.calls);
}

Timing summarise(std::vector<double> perCall, Repetitions repetitions) {
  std::ranges::sort(perCall);
  return {perCall[perCall.size() / 2], perCall.front(), perCall.back(), repetitions};
}

Result<Timing> timeStream(const Gpu& gpu,
                          const GpuStream& stream,
                          Repetitions repetitions,
                          const std::function<Status()>& queue) {
  const OnGpu current(gpu);
  const Deadline deadline = Deadline::within(std::chrono::seconds(20));
  RONDO_RETURN_IF_ERROR(repeat(2, queue));
  RONDO_RETURN_IF_ERROR(stream.await(deadline));
  std::vector<double> perCall;
  for (int batch = 0; batch < repetitions.batches; ++batch) {
    const Result<double> seconds = timeBatch(gpu, stream, repetitions.calls, queue, deadline);
    RONDO_RETURN_IF_ERROR(seconds.status());
    perCall.push_back(*seconds);
  }
  return summarise(std::move(perCall), repetitions);
}

Result<Timing> timeTeam(GpuTeam& team,
                        Repetitions repetitions,
                        const std::function<Status(GpuRank&)>& queue) {
  const auto patience = 2 * team.patience();
  const Status warm = team.run([&](GpuRank& rank) -> Status {
    RONDO_RETURN_IF_ERROR(repeat(2, [&] { return queue(rank); }));
    return rank.stream.await(Deadline::within(patience));
  });
  RONDO_RETURN_IF_ERROR(warm);
  std::vector<double> byRank(static_cast<std::size_t>(team.ranks()));
  const auto batchOf = [&](GpuRank& rank) -> Status {
    // Ranks whose threads started early do not wait inside the batch.
    RONDO_RETURN_IF_ERROR(perf::statusOf(rondoBarrier(rank.comm, rank.stream.get()), rank.comm));
    const Result<double> seconds = timeBatch(
        *rank.gpu, rank.stream, repetitions.calls, [&] { return queue(rank); },
        Deadline::within(patience));
    RONDO_RETURN_IF_ERROR(seconds.status());
    byRank[static_cast<std::size_t>(rank.rank)] = *seconds;
    return laterFailure(rank.comm);
  };
  std::vector<double> perCall;
  for (int batch = 0; batch < repetitions.batches; ++batch) {
    RONDO_RETURN_IF_ERROR(team.run(batchOf));
    perCall.push_back(std::ranges::max(byRank));
  }
  return summarise(std::move(perCall), repetitions);
}

}  // namespace rondo::gpucheck
