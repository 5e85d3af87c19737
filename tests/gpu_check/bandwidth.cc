// How fast are operations on much data, beside a copy on the device of as many bytes?
#include "src/cli/perf/bandwidth.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "src/cli/perf/collective_caller.h"
#include "src/size_text.h"
#include "tests/gpu_check/check_call.h"
#include "tests/gpu_check/copy_timer.h"
#include "tests/gpu_check/section.h"
#include "tests/gpu_check/timing.h"

namespace rondo::gpucheck {

namespace {

/// The most telling first: what hardware gives at most, then the middle, then the rest.
constexpr std::array<std::size_t, 6> kSizes = {64U << 20U, 1U << 20U,  256U << 20U,
                                               64U << 10U, 16U << 20U, 8};
constexpr std::array<std::size_t, 2> kTinySizes = {64U << 10U, 8};

constexpr Collective kCollectives[] = {Collective::kAllReduce, Collective::kAllGather,
                                       Collective::kReduceScatter, Collective::kBroadcast};

/// One buffer to send and one to receive for each rank, shared by all teams.
Result<std::vector<RankBuffers>> allocate(const Section& section, std::size_t bytes) {
  std::vector<RankBuffers> buffers;
  for (int rank = 0; rank < std::ranges::max(kRankCounts); ++rank) {
    Result<RankBuffers> made = RankBuffers::allocate(section.gpus.ofRank(rank), bytes);
    RONDO_RETURN_IF_ERROR(made.status());
    buffers.push_back(*std::move(made));
  }
  return buffers;
}

/// What is measured, and what it is held against.
class Bench {
 public:
  Bench(const Section& section, std::vector<RankBuffers> buffers, CopyTimer copies)
      : section_(section), buffers_(std::move(buffers)), copies_(std::move(copies)) {}

  /// @return what went wrong
  Status measure(Collective collective, int ranks, std::size_t bytes) {
    Result<GpuTeam*> team = teamOf(ranks);
    RONDO_RETURN_IF_ERROR(team.status());
    const Result<Timing> copy = copies_.time(bytes);
    RONDO_RETURN_IF_ERROR(copy.status());
    perf::Case what;
    what.collective = collective;
    what.count = perf::countForBytes(collective, what.type, ranks, bytes);
    if (what.count == 0) return {};  // fewer than an element for each rank
    what.bytes = perf::bytesOfCount(collective, what.type, ranks, what.count);
    const Result<Timing> timing = timeTeam(
        **team, Repetitions::forBytes(bytes, section_.extent.tiny), [&](GpuRank& rank) -> Status {
          const Result<perf::CollectiveCaller> caller =
              perf::CollectiveCaller::create(what, {}, rank.comm);
          RONDO_RETURN_IF_ERROR(caller.status());
          const RankBuffers& own = buffers_[static_cast<std::size_t>(rank.rank)];
          return caller->status(caller->call(own.first.at(0), own.second.at(0), rank.stream.get()));
        });
    if (!timing.ok()) {
      teams_.erase(ranks);
      return timing.status();
    }
    tell(what, ranks, *timing, *copy);
    return {};
  }

 private:
  Result<GpuTeam*> teamOf(int ranks) {
    const auto found = teams_.find(ranks);
    if (found != teams_.end()) return &found->second;
    Result<GpuTeam> team =
        GpuTeam::make(section_.gpus, {.ranks = ranks, .patience = section_.extent.patience});
    RONDO_RETURN_IF_ERROR(team.status());
    return &teams_.emplace(ranks, *std::move(team)).first->second;
  }

  void tell(const perf::Case& what, int ranks, const Timing& timing, const Timing& copy) const {
    const perf::Bandwidth bandwidth =
        perf::bandwidthOf(what.collective, ranks, what.bytes, timing.medianSeconds);
    const double share = copy.medianSeconds / timing.medianSeconds;
    section_.report.row({{"operation", collectiveName(what.collective)},
                         {"type", dataTypeName(what.type)},
                         {"redop", perf::redOpText(what)},
                         {"ranks", ranks},
                         {"gpus", std::min(ranks, static_cast<int>(section_.gpus.all.size()))},
                         {"size_bytes", what.bytes},
                         {"time", timing.json()},
                         {"algbw_gbs", bandwidth.algorithmGBs},
                         {"busbw_gbs", bandwidth.busGBs},
                         {"copy", copy.json()},
                         {"share_of_copy", share}},
                        fmt::format("{:<14} {} ranks {:>8}: {}, algbw {:.2f}, busbw {:.2f} GB/s, "
                                    "{:.1f} % of a copy's {:.2f} us",
                                    collectiveName(what.collective), ranks, formatSize(what.bytes),
                                    timing.text(), bandwidth.algorithmGBs, bandwidth.busGBs,
                                    100 * share, 1e6 * copy.medianSeconds));
  }

  const Section& section_;
  std::vector<RankBuffers> buffers_;
  CopyTimer copies_;
  std::map<int, GpuTeam> teams_;
};

}  // namespace

void measureBandwidth(const Section& section) {
  const std::vector<std::size_t> sizes =
      section.extent.tiny ? std::vector<std::size_t>(kTinySizes.begin(), kTinySizes.end())
                          : std::vector<std::size_t>(kSizes.begin(), kSizes.end());
  section.report.doing("allocating");
  Result<std::vector<RankBuffers>> buffers = allocate(section, std::ranges::max(sizes));
  if (!buffers.ok()) return section.report.notRun(buffers.status().message());
  Result<CopyTimer> copies = CopyTimer::make(section, std::ranges::max(sizes));
  if (!copies.ok()) return section.report.notRun(copies.status().message());
  Bench bench(section, *std::move(buffers), *std::move(copies));
  for (const std::size_t bytes : sizes) {
    for (const Collective collective : kCollectives) {
      for (const int ranks : kRankCounts) {
        if (section.outOfTime()) return;
        const std::string text =
            fmt::format("{} of {}, {} ranks", collectiveName(collective), formatSize(bytes), ranks);
        section.report.doing(text);
        const Status outcome = bench.measure(collective, ranks, bytes);
        if (!outcome.ok()) section.report.check(outcome, text);
      }
    }
  }
}

}  // namespace rondo::gpucheck
