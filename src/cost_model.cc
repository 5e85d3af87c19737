#include "src/cost_model.h"

#include <algorithm>

namespace rondo {

namespace {

/// Ranks, or hosts, whose costs stand for all: the ends and the middle, where trees and chains
/// differ.
constexpr int kSamples = 3;

int sampleOf(int sample, int all) {
  return static_cast<int>(std::int64_t{sample} * (all - 1) / (kSamples - 1));
}

/// A rank's work over all channels; `hops` is the longest of them.
struct RankWork {
  double steps = 0;
  double slots = 0;  ///< sent
  double bytes = 0;  ///< sent
  double addedBytes = 0;
  double hops = 0;
};

void add(const Cost& cost, const PlanRequest& request, double times, RankWork& work) {
  work.steps += times * static_cast<double>(cost.steps);
  work.slots += times * static_cast<double>(cost.slotsSent);
  work.bytes +=
      times * static_cast<double>(cost.elemsSent * elementBytes(request.type) +
                                  cost.wideElemsSent * accumulatorBytes(request.type, request.op));
  work.addedBytes += times * static_cast<double>(cost.elemsAdded * elementBytes(request.type));
  work.hops = std::max(work.hops, static_cast<double>(cost.hops));
}

RankWork rankWork(const Plan& plan, const PlanRequest& request, int ranks, int rank) {
  RankWork work;
  for (int channel = 0; channel < plan.channels; ++channel) {
    const AnySchedule schedule(plan.algorithm, scheduleArgs(plan, request, ranks, rank, channel));
    add(schedule.cost(), request, 1, work);
  }
  return work;
}

double busyMicros(const RankWork& work, const HostCosts& costs) {
  // What is sent is also received by somebody: each byte is written once and read once.
  return work.steps * costs.stepMicros + work.slots * costs.slotMicros +
         2 * work.bytes / costs.bytesPerMicro + work.addedBytes / costs.addedBytesPerMicro;
}

/// The same where workers share the channels. They are no faster than memory is: what all ranks
/// read from and store to their buffers; slots stay in caches.
double sharedBusyMicros(const RankWork& work,
                        const Plan& plan,
                        const PlanFacts& facts,
                        const HostCosts& costs) {
  const double busy = busyMicros(work, costs);
  if (plan.workers == 1) return busy;
  const int lanes = (plan.channels + plan.workers - 1) / plan.workers;
  const double slowest = busy * lanes / plan.channels;
  const double memory =
      facts.ranks * (work.bytes + work.addedBytes) / (facts.memoryNodes * costs.nodeBytesPerMicro);
  // Who asks for workers knows the machine.
  const double least = facts.workersAsked ? slowest : std::max(slowest, std::min(busy, memory));
  return least + costs.handOverMicros + (plan.workers - 1) * costs.workerMicros;
}

/// How the ranks share processors.
struct Sharing {
  Sharing(const PlanFacts& facts, const HostCosts& costs) {
    if (facts.ranks <= facts.cpus) {
      hopMicros = costs.hopMicros;
      return;
    }
    factor = static_cast<double>(facts.ranks) / facts.cpus;
    hopMicros = costs.crowdedHopMicros;
  }

  double factor = 1;
  double hopMicros = 0;
};

/// Bytes of the first chunk of a pipeline, for which ranks further on wait at each hop; else 0.
double fillBytes(AlgorithmId id, std::size_t chunkElems, double share, const PlanRequest& request) {
  if (!algorithmInfo(id).pipelined) return 0;
  return std::min(share, static_cast<double>(chunkElems)) *
         static_cast<double>(elementBytes(request.type));
}

/// What of a flat algorithm goes over the network.
struct WireWork {
  double micros = 0;    ///< of the host that is busiest with it
  double hopShare = 0;  ///< of the hops of a chunk
};

/// The share of the peers to which `rank` sends that are on other hosts. All get alike much.
double shareBetween(const AnySchedule& schedule, const HostMap& hosts, int rank) {
  int between = 0;
  for (int entry = 0; entry < schedule.sendPeers(); ++entry)
    between += hosts.hostOf(schedule.sendPeer(entry)) != hosts.hostOf(rank) ? 1 : 0;
  return schedule.sendPeers() == 0 ? 0 : static_cast<double>(between) / schedule.sendPeers();
}

WireWork wireWorkOf(int host,
                    const Plan& plan,
                    const PlanRequest& request,
                    const PlanFacts& facts,
                    HostCosts costs) {
  WireWork all;
  double bytes = 0;
  double slots = 0;
  const std::span<const int> members = facts.hosts->members(host);
  for (const int rank : members) {
    const AnySchedule schedule(plan.algorithm, scheduleArgs(plan, request, facts.ranks, rank, 0));
    const double share = shareBetween(schedule, *facts.hosts, rank);
    const RankWork work = rankWork(plan, request, facts.ranks, rank);
    bytes += share * work.bytes;
    slots = std::max(slots, share * work.slots);
    all.hopShare += (share > 0 ? 1.0 : 0.0) / static_cast<double>(members.size());
  }
  all.micros = bytes / costs.wireBytesPerMicro + slots * costs.wireSlotMicros;
  return all;
}

WireWork wireWork(const Plan& plan,
                  const PlanRequest& request,
                  const PlanFacts& facts,
                  const HostCosts& costs) {
  WireWork most;
  for (int sample = 0; facts.hosts != nullptr && sample < kSamples; ++sample) {
    const WireWork one =
        wireWorkOf(sampleOf(sample, facts.hosts->hosts()), plan, request, facts, costs);
    most.micros = std::max(most.micros, one.micros);
    most.hopShare = std::max(most.hopShare, one.hopShare);
  }
  return most;
}

/// The stages of one rank: all their work in its thread, and on the wire that its host has.
double stagesMicros(const Plan& plan,
                    const PlanRequest& request,
                    const PlanFacts& facts,
                    const HostCosts& costs,
                    int rank) {
  const Sharing sharing(facts, costs);
  const TwoLevel operation = twoLevelOf(plan, request, facts, rank);
  const auto pieces = static_cast<double>(operation.pieces());
  // The last piece may be smaller, but no stage has fewer runs for that.
  const double filled = std::min(1.0, static_cast<double>(request.count) /
                                          (pieces * static_cast<double>(plan.twoLevel.pieceElems)));
  double micros = 0;
  for (int stage = 0; stage < operation.stages(); ++stage) {
    if (operation.runs(stage) == 0) continue;
    const StageRun run = operation.run(stage, 0);
    RankWork work;
    add(AnySchedule(run.algorithm, run.args).cost(), request,
        static_cast<double>(operation.runs(stage)), work);
    work.bytes *= filled;
    work.addedBytes *= filled;
    micros += busyMicros(work, costs) * sharing.factor;
    const double fill =
        fillBytes(run.algorithm, run.args.chunkElems, static_cast<double>(request.count), request);
    if (operation.scope(stage) == StageScope::kInside) {
      micros += work.hops * (sharing.hopMicros + fill / costs.bytesPerMicro);
      continue;
    }
    const auto senders = static_cast<double>(facts.hosts->fewest());
    micros += work.bytes * senders / costs.wireBytesPerMicro + work.slots * costs.wireSlotMicros;
    // Runs of a stage follow each other.
    micros += pieces * work.hops * (sharing.hopMicros + costs.wireHopMicros) +
              work.hops * fill / costs.wireBytesPerMicro;
  }
  return micros;
}

double predictTwoLevel(const Plan& plan,
                       const PlanRequest& request,
                       const PlanFacts& facts,
                       const HostCosts& costs) {
  if (request.count == 0) return 0;
  double slowest = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    slowest =
        std::max(slowest, stagesMicros(plan, request, facts, costs, sampleOf(sample, facts.ranks)));
  }
  return slowest;
}

}  // namespace

double predictMicros(const Plan& plan,
                     const PlanRequest& request,
                     const PlanFacts& facts,
                     const HostCosts& costs) {
  if (isTwoLevel(plan.algorithm)) return predictTwoLevel(plan, request, facts, costs);
  const Sharing sharing(facts, costs);
  double slowest = 0;
  double hops = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    const RankWork work = rankWork(plan, request, facts.ranks, sampleOf(sample, facts.ranks));
    slowest = std::max(slowest, sharedBusyMicros(work, plan, facts, costs));
    hops = std::max(hops, work.hops);
  }
  const double share = static_cast<double>(request.count) / plan.channels;
  const double fill = fillBytes(plan.algorithm, plan.chunkElems, share, request);
  const WireWork wire = wireWork(plan, request, facts, costs);
  const double hop = sharing.hopMicros + fill / costs.bytesPerMicro;
  const double wireHop = costs.wireHopMicros + fill / costs.wireBytesPerMicro;
  return slowest * sharing.factor + wire.micros + hops * (hop + wire.hopShare * wireHop);
}

}  // namespace rondo
