// Is every result right? Every algorithm, type and reduction, with numbers of elements and
// placements that change from call to call, each compared bit by bit with the host's.
#include <iterator>
#include <optional>
#include <utility>

#include "tests/gpu_check/cases.h"
#include "tests/gpu_check/check_call.h"
#include "tests/gpu_check/section.h"

namespace rondo::gpucheck {

namespace {

/// Room for shifts and for the bytes around a buffer.
constexpr std::size_t kRoomBytes = 1024;

/// After so many calls that ended in an error, not a wrong result, the rest would, too.
constexpr int kMostBroken = 3;

/// Both teams of a number of ranks, and the GPUs' memory.
struct Bench {
  HostTeam host;
  GpuTeam gpus;
  std::vector<RankBuffers> buffers;

  static Result<Bench> make(const Section& section,
                            const TeamSettings& settings,
                            std::size_t bytes) {
    Result<HostTeam> host = HostTeam::make(settings);
    RONDO_RETURN_IF_ERROR(host.status());
    Result<GpuTeam> gpus = GpuTeam::make(section.gpus, settings);
    RONDO_RETURN_IF_ERROR(gpus.status());
    std::vector<RankBuffers> buffers;
    for (int rank = 0; rank < settings.ranks; ++rank) {
      Result<RankBuffers> made = RankBuffers::allocate(section.gpus.ofRank(rank), bytes);
      RONDO_RETURN_IF_ERROR(made.status());
      buffers.push_back(*std::move(made));
    }
    return Bench{*std::move(host), *std::move(gpus), std::move(buffers)};
  }
};

/// Makes calls on communicators of one kind, and replaces those that a failure has ended.
class Checker {
 public:
  Checker(const Section& section, TeamSettings settings, std::size_t mostBytes)
      : section_(section), settings_(std::move(settings)), bytes_(mostBytes + kRoomBytes) {}

  /// @return false if there is no sense in another call
  bool check(const CheckCall& call) {
    if (section_.outOfTime()) return false;
    const std::string text = call.text(settings_.ranks);
    section_.report.doing(text);
    if (!bench_.has_value()) {
      Result<Bench> made = Bench::make(section_, settings_, bytes_);
      if (!made.ok()) {
        section_.report.check(made.status(), fmt::format("making {} ranks", settings_.ranks));
        return false;
      }
      bench_.emplace(*std::move(made));
    }
    const Status outcome = checkCall(call, bench_->host, bench_->gpus, bench_->buffers);
    section_.report.check(outcome, text);
    if (outcome.ok() || outcome.code() == StatusCode::kInternal) return true;
    bench_.reset();
    return ++broken_ < kMostBroken;
  }

 private:
  const Section& section_;
  TeamSettings settings_;
  std::size_t bytes_;
  std::optional<Bench> bench_;
  int broken_ = 0;
};

TeamSettings settingsOf(const Section& section, int ranks, std::string algorithms = {}) {
  return {.ranks = ranks, .algorithms = std::move(algorithms), .patience = section.extent.patience};
}

/// One in so many calls, for what is slow.
std::vector<CheckCall> thinned(std::vector<CheckCall> calls, const Extent& extent) {
  constexpr std::size_t kOneIn = 23;
  if (!extent.tiny) return calls;
  std::vector<CheckCall> some;
  for (std::size_t at = 0; at < calls.size(); at += kOneIn)
    some.push_back(calls[at]);
  return some;
}

void checkMatrix(const Section& section, int ranks) {
  std::vector<std::vector<CheckCall>> sets(mostAlgorithms());
  int planned = 0;
  for (std::size_t set = 0; set < sets.size(); ++set) {
    for (const AlgorithmId algorithm : newIn(set)) {
      const auto calls = thinned(
          callsOf(algorithm, ranks, {kSmallBytes, kLargeBytes, kFewElements}), section.extent);
      sets[set].insert(sets[set].end(), calls.begin(), calls.end());
    }
    planned += static_cast<int>(sets[set].size());
  }
  section.report.expect(planned);
  for (std::size_t set = 0; set < sets.size(); ++set) {
    Checker checker(section, settingsOf(section, ranks, algorithmsText(set)), kLargeBytes * 2);
    for (const CheckCall& call : sets[set]) {
      if (!checker.check(call)) break;
    }
  }
}

}  // namespace

void checkSmoke(const Section& section) {
  std::vector<std::size_t> sizes = {kSmallBytes, kLargeBytes};
  if (!section.extent.tiny) sizes.push_back(kBigBytes);
  const std::size_t calls = smokeCalls(2, sizes).size();
  section.report.expect(static_cast<int>(calls * std::size(kRankCounts)));
  for (const int ranks : kRankCounts) {
    Checker checker(section, settingsOf(section, ranks), sizes.back() * 2);
    for (const CheckCall& call : smokeCalls(ranks, sizes)) {
      if (!checker.check(call)) break;
    }
  }
}

void checkMatrixOfTwo(const Section& section) {
  checkMatrix(section, 2);
}

void checkMatrixOfFour(const Section& section) {
  checkMatrix(section, 4);
}

void checkMatrixOfEight(const Section& section) {
  checkMatrix(section, 8);
}

}  // namespace rondo::gpucheck
