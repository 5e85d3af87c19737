#include "src/cli/tune/tune.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "src/cli/machine.h"
#include "src/cli/names.h"
#include "src/cli/perf/bandwidth.h"
#include "src/cli/perf/predictable.h"
#include "src/cli/perf/rank_team.h"
#include "src/cli/perf/report.h"
#include "src/cli/text_table.h"
#include "src/plan_rule.h"
#include "src/size_text.h"
#include "src/tuning_table.h"

namespace rondo::tune {

namespace {

/// How a call was done; without an algorithm, as the planner chose by itself.
struct Way {
  std::optional<AlgorithmId> algorithm;
  std::size_t chunkBytes = 0;

  friend auto operator<=>(const Way&, const Way&) = default;
};

using Times = std::vector<double>;  // microseconds, one per round

/// A size of an operation.
struct Cell {
  Collective collective{};
  std::size_t bytes = 0;

  friend auto operator<=>(const Cell&, const Cell&) = default;
};

using CellTimes = std::map<Way, Times>;

double median(Times times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

/// The typical time of each way. A machine may be slower in one round than in another, but all ways
/// of a cell were measured right after each other: they are compared within rounds.
std::map<Way, double> typical(const CellTimes& cell) {
  Times fastest;
  for (std::size_t round = 0; round < cell.begin()->second.size(); ++round) {
    double least = cell.begin()->second[round];
    for (const auto& [way, times] : cell)
      least = std::min(least, times[round]);
    fastest.push_back(least);
  }
  std::map<Way, double> typical;
  for (const auto& [way, times] : cell) {
    Times ratios;
    for (std::size_t round = 0; round < times.size(); ++round)
      ratios.push_back(times[round] / fastest[round]);
    typical[way] = median(ratios) * median(fastest);
  }
  return typical;
}

/// So many calls that small ones are timed well and large ones soon.
int callsFor(std::size_t bytes) {
  constexpr std::size_t kBytesMoved = std::size_t{32} << 20;
  return static_cast<int>(
      std::clamp(kBytesMoved / std::max(bytes, std::size_t{1}), std::size_t{4}, std::size_t{200}));
}

/// A way, and the communicators that go it.
struct Contestant {
  Way way;
  perf::RankTeam team;
  bool refused = false;  ///< it cannot be used among these ranks
};

class Tuner {
 public:
  Tuner(const TuneOptions& options, const perf::ProcessRank* self)
      : options_(options), self_(self) {}

  Status measure() {
    for (const perf::Operation& operation : options_.measured.operations)
      RONDO_RETURN_IF_ERROR(measureOperation(operation.collective));
    return {};
  }

  const std::map<Cell, CellTimes>& times() const { return times_; }

 private:
  Status measureOperation(Collective collective) {
    Result<std::vector<Contestant>> contestants = contestantsFor(collective);
    RONDO_RETURN_IF_ERROR(contestants.status());
    for (int round = 0; round < options_.rounds; ++round) {
      for (const std::size_t size : options_.measured.sizes) {
        for (Contestant& contestant : *contestants) {
          // A chunk larger than all there is makes no difference.
          if (contestant.way.chunkBytes > std::max(size, options_.chunkBytes.front())) continue;
          if (contestant.refused) continue;
          const Status measured = measureSize(contestant, collective, size, round);
          // Two levels want several hosts.
          contestant.refused = measured.code() == StatusCode::kNotSupported;
          if (!contestant.refused) RONDO_RETURN_IF_ERROR(measured);
        }
      }
    }
    return {};
  }

  Result<std::vector<Contestant>> contestantsFor(Collective collective) {
    std::vector<Way> ways{Way{}};
    for (const AlgorithmId algorithm : cli::algorithmsOf(collective)) {
      for (const std::size_t chunk : options_.chunkBytes)
        ways.push_back({algorithm, chunk});
    }
    std::vector<Contestant> contestants;
    for (const Way& way : ways) {
      const std::string rule =
          way.algorithm ? planRuleText({.algorithm = *way.algorithm, .chunkBytes = way.chunkBytes})
                        : std::string();
      Result<perf::RankTeam> team = perf::RankTeam::create(options_.measured, rule, self_);
      RONDO_RETURN_IF_ERROR(team.status());
      contestants.push_back({way, *std::move(team)});
    }
    return contestants;
  }

  Status measureSize(Contestant& contestant, Collective collective, std::size_t size, int round) {
    perf::PerfOptions options = options_.measured;
    options.iterations = callsFor(size);
    options.warmups = 2;
    options.blocking = true;  // else a root would be ahead of the others by as many calls as fit
    options.checks = round == 0 ? 1 : 0;
    perf::Case what;
    what.collective = collective;
    what.algorithm = contestant.way.algorithm;
    what.count = perf::countForBytes(collective, what.type, options.ranks, size);
    what.bytes = perf::bytesOfCount(collective, what.type, options.ranks, what.count);
    const perf::PredictableData data(
        {collective, what.type, what.op, options.ranks, what.root, what.count, 0});
    const Result<std::vector<perf::RankReport>> ranks =
        contestant.team.run(options, what, data, perf::Placement::kOutOfPlace);
    RONDO_RETURN_IF_ERROR(ranks.status());
    double slowest = 0;
    for (const perf::RankReport& rank : *ranks) {
      if (rank.wrong > 0) return Status::internal("{}", rank.problem);
      slowest = std::max(slowest, rank.secondsPerCall);
    }
    times_[{collective, what.bytes}][contestant.way].push_back(slowest * 1e6);
    return {};
  }

  const TuneOptions& options_;
  const perf::ProcessRank* self_;
  std::map<Cell, CellTimes> times_;
};

TuningTable tableOf(const std::map<Cell, CellTimes>& times, int ranks) {
  std::vector<TuningEntry> entries;
  for (const auto& [cell, ways] : times) {
    for (const auto& [way, micros] : typical(ways)) {
      if (way.algorithm) {
        entries.push_back({*way.algorithm, ranks, cell.bytes, way.chunkBytes, micros});
      }
    }
  }
  return TuningTable(std::move(entries));
}

/// How near the planner by itself comes to the best of each cell.
std::string summary(const std::map<Cell, CellTimes>& times, int ranks) {
  constexpr double kNear = 1.1;
  const TuningTable table = tableOf(times, ranks);
  cli::TextTable text({"operation", "size", "fastest", "chunk", "us", "planner, us", "ratio"});
  std::size_t cells = 0;
  std::size_t near = 0;
  for (const auto& [cell, ways] : times) {
    const auto measured = table.nearest(cell.collective, ranks, cell.bytes);
    const TuningEntry& best = *std::ranges::min_element(measured, {}, &TuningEntry::micros);
    const double micros = typical(ways).at(Way{});
    const double ratio = micros / best.micros;
    ++cells;
    if (ratio <= kNear) ++near;
    text.add({std::string(collectiveName(cell.collective)), formatSize(cell.bytes),
              std::string(algorithmInfo(best.algorithm).name), formatSize(best.chunkBytes),
              fmt::format("{:.2f}", best.micros), fmt::format("{:.2f}", micros),
              fmt::format("{:.2f}", ratio)});
  }
  return text.text() + fmt::format(
                           "\nWithout a table the planner's choice is within 10 % of the "
                           "fastest in {} of {} cells.\n",
                           near, cells);
}

Status write(const TuningTable& table, const TuneOptions& options, bool processes) {
  const Result<perf::OutputFile> file = perf::OutputFile::open(options.file);
  RONDO_RETURN_IF_ERROR(file.status());
  fmt::print(file->get(), "# rondo tune: {}, {} ranks that are {}\n{}", cli::processorModel(),
             options.measured.ranks, processes ? "processes" : "threads", table.text());
  return {};
}

}  // namespace

Status runTune(const TuneOptions& options, const perf::ProcessRank* self) {
  Tuner tuner(options, self);
  RONDO_RETURN_IF_ERROR(tuner.measure());
  if (self != nullptr && self->rank() != 0) return {};
  const int ranks = options.measured.ranks;
  fmt::print("{}", summary(tuner.times(), ranks));
  RONDO_RETURN_IF_ERROR(write(tableOf(tuner.times(), ranks), options, self != nullptr));
  fmt::print("The table is in {0}: set RONDO_TUNING_FILE={0} on all ranks to use it.\n",
             options.file);
  return {};
}

}  // namespace rondo::tune
