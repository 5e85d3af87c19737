#include "src/cost_model.h"

#include <algorithm>

namespace rondo {

namespace {

/// Ranks whose costs stand for all: the ends and the middle, where trees and chains differ.
constexpr int kSampleRanks = 3;

int sampleRank(int sample, int ranks) {
  return static_cast<int>(std::int64_t{sample} * (ranks - 1) / (kSampleRanks - 1));
}

/// A rank's work over all channels; `hops` is the longest of them.
struct RankWork {
  double steps = 0;
  double slots = 0;  ///< sent
  double bytes = 0;  ///< sent
  double addedBytes = 0;
  double hops = 0;
};

RankWork rankWork(const Plan& plan, const PlanRequest& request, int ranks, int rank) {
  RankWork work;
  for (int channel = 0; channel < plan.channels; ++channel) {
    const AnySchedule schedule(plan.algorithm, scheduleArgs(plan, request, ranks, rank, channel));
    const Cost cost = schedule.cost();
    work.steps += static_cast<double>(cost.steps);
    work.slots += static_cast<double>(cost.slotsSent);
    work.bytes +=
        static_cast<double>(cost.elemsSent * elementBytes(request.type) +
                            cost.wideElemsSent * accumulatorBytes(request.type, request.op));
    work.addedBytes += static_cast<double>(cost.elemsAdded * elementBytes(request.type));
    work.hops = std::max(work.hops, static_cast<double>(cost.hops));
  }
  return work;
}

/// How long ranks further on wait at each hop of a pipeline for the first chunk to be written.
double fillMicros(const Plan& plan, const PlanRequest& request, const HostCosts& costs) {
  if (!algorithmInfo(plan.algorithm).pipelined) return 0;
  const double share = static_cast<double>(request.count) / plan.channels;
  return std::min(share, static_cast<double>(plan.chunkElems)) *
         static_cast<double>(elementBytes(request.type)) / costs.bytesPerMicro;
}

}  // namespace

double predictMicros(const Plan& plan,
                     const PlanRequest& request,
                     const PlanFacts& facts,
                     const HostCosts& costs) {
  const bool crowded = facts.ranks > facts.cpus;
  const double sharing = crowded ? static_cast<double>(facts.ranks) / facts.cpus : 1.0;
  const double hopMicros = crowded ? costs.crowdedHopMicros : costs.hopMicros;
  double slowest = 0;
  double hops = 0;
  for (int sample = 0; sample < kSampleRanks; ++sample) {
    const RankWork work = rankWork(plan, request, facts.ranks, sampleRank(sample, facts.ranks));
    // What is sent is also received by somebody: each byte is written once and read once.
    const double micros = work.steps * costs.stepMicros + work.slots * costs.slotMicros +
                          2 * work.bytes / costs.bytesPerMicro +
                          work.addedBytes / costs.addedBytesPerMicro;
    slowest = std::max(slowest, micros);
    hops = std::max(hops, work.hops);
  }
  const double fill = fillMicros(plan, request, costs);
  return slowest * sharing + hops * (hopMicros + fill);
}

}  // namespace rondo
