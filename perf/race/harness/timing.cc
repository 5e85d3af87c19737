#include "perf/race/harness/timing.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <sys/resource.h>

#include "perf/race/harness/clock.h"

namespace rondo::race {

namespace {

/// Of what is spent on each of the two timings.
constexpr double kWarmUpShare = 0.2;
constexpr std::size_t kLeastWarmUpCalls = 3;
constexpr std::size_t kMostWarmUpCalls = 200;
constexpr double kLeastCalls = 5;
constexpr std::size_t kBatches = 15;
constexpr std::size_t kBatchesOfLongCalls = 3;
constexpr double kMostCallsOfABatch = 5000;

double medianOfSorted(const std::vector<double>& sorted) {
  return sorted[sorted.size() / 2];
}

double runOnce(const Meeting& meeting, Library& library, const Work& work) {
  const std::uint64_t start = ticks();
  library.run(work);
  return static_cast<double>(ticks() - start) * meeting.secondsPerTick();
}

/// Calls until the library has settled; returns the seconds that a call takes (the median, since
/// single ones may be disturbed), the same on all ranks.
double warmUp(Meeting& meeting, Library& library, const Work& work, double seconds) {
  std::vector<double> calls;
  double total = 0;
  for (bool goesOn = true; goesOn;) {
    meeting.startTogether();
    calls.push_back(runOnce(meeting, library, work));
    total += calls.back();
    const bool enough = calls.size() >= kLeastWarmUpCalls && total > seconds;
    goesOn = meeting.fromRankZero(enough || calls.size() == kMostWarmUpCalls ? 0 : 1) != 0;
  }
  std::sort(calls.begin(), calls.end());
  const auto nanoseconds = static_cast<std::uint64_t>(medianOfSorted(calls) * 1e9);
  return std::max(static_cast<double>(meeting.fromRankZero(nanoseconds)), 10.0) * 1e-9;
}

/// How often the scheduler took the processor from this thread.
long preemptions() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

SingleCalls timeSingleCalls(Meeting& meeting,
                            Library& library,
                            const Work& work,
                            std::size_t calls) {
  std::vector<double> mine(calls);
  std::vector<double> disturbed(calls);
  for (std::size_t i = 0; i < calls; ++i) {
    const long before = preemptions();
    meeting.startTogether();
    mine[i] = runOnce(meeting, library, work);
    disturbed[i] = preemptions() != before ? 1 : 0;
  }
  std::vector<double> all = meeting.slowest(mine);
  const std::vector<double> anyDisturbed = meeting.slowest(disturbed);
  std::vector<double> undisturbed;
  for (std::size_t i = 0; i < calls; ++i) {
    if (anyDisturbed[i] == 0) undisturbed.push_back(all[i]);
  }
  std::sort(all.begin(), all.end());
  std::sort(undisturbed.begin(), undisturbed.end());
  constexpr std::size_t kFewestForAMedian = 3;
  return {.calls = calls,
          .median = medianOfSorted(all),
          .least = all.front(),
          .ninthDecile = all[calls * 9 / 10],
          .undisturbedCalls = undisturbed.size(),
          .undisturbedMedian =
              medianOfSorted(undisturbed.size() < kFewestForAMedian ? all : undisturbed)};
}

CallsInARow timeCallsInARow(Meeting& meeting,
                            Library& library,
                            const Work& work,
                            std::size_t batches,
                            std::size_t callsOfABatch) {
  std::vector<double> mine(batches);
  for (double& seconds : mine) {
    meeting.startTogether();
    const std::uint64_t start = ticks();
    for (std::size_t call = 0; call < callsOfABatch; ++call) {
      library.run(work);
    }
    seconds = static_cast<double>(ticks() - start) * meeting.secondsPerTick() /
              static_cast<double>(callsOfABatch);
  }
  std::vector<double> all = meeting.slowest(mine);
  std::sort(all.begin(), all.end());
  return {.median = medianOfSorted(all), .least = all.front()};
}

}  // namespace

Times timeCalls(Meeting& meeting, Library& library, const Work& work, double budgetSeconds) {
  const double callSeconds = warmUp(meeting, library, work, kWarmUpShare * budgetSeconds);
  Times times;
  if (!meeting.isCrowded()) {
    const double affordable = std::max(budgetSeconds / callSeconds, kLeastCalls);
    const auto calls =
        static_cast<std::size_t>(std::min<double>(affordable, Meeting::kMostCalls - 2)) | 1u;
    times.single = timeSingleCalls(meeting, library, work, calls);
  }
  const std::size_t batches = callSeconds > budgetSeconds ? kBatchesOfLongCalls : kBatches;
  const double perBatch = budgetSeconds / static_cast<double>(batches) / callSeconds;
  times.inARow =
      timeCallsInARow(meeting, library, work, batches,
                      static_cast<std::size_t>(std::clamp(perBatch, 2.0, kMostCallsOfABatch)));
  return times;
}

}  // namespace rondo::race
