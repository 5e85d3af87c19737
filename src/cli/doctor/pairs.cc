#include "src/cli/doctor/pairs.h"

#include <algorithm>
#include <set>

#include "src/cli/text_table.h"
#include "src/format.h"

namespace rondo::doctor {

namespace {

/// So many times as slow as the median is no noise: two caches of a socket differ by less, two
/// sockets or two transports by about as much.
constexpr double kMuchSlower = 3;

/// Fewer have no others to be compared with.
constexpr std::size_t kFewestPairs = 3;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void addSlowPairs(std::span<const PairSpeed> speeds, Findings& findings) {
  if (speeds.size() < kFewestPairs) return;
  std::vector<double> latencies;
  std::vector<double> bandwidths;
  for (const PairSpeed& pair : speeds) {
    latencies.push_back(pair.latencyUs);
    bandwidths.push_back(pair.bandwidthGBs);
  }
  const double usualUs = median(latencies);
  const double usualGBs = median(bandwidths);
  for (const PairSpeed& pair : speeds) {
    const bool late = pair.latencyUs > kMuchSlower * usualUs;
    const bool narrow = kMuchSlower * pair.bandwidthGBs < usualGBs;
    if (!late && !narrow) continue;
    findings.push_back(warning(
        fmt::format("ranks {} and {} ({}) are much slower than others: {:.1f} us and {:.2f} GB/s, "
                    "where half of all pairs have {:.1f} us and {:.2f} GB/s or better",
                    pair.one, pair.other, pair.transport, pair.latencyUs, pair.bandwidthGBs,
                    usualUs, usualGBs),
        "rondo explain --topology, then rondo run --bind share; if it was noise, it goes when "
        "repeated"));
  }
}

const PairSpeed* find(const PairFacts& facts, int one, int other) {
  const auto found = std::ranges::find_if(facts.speeds, [&](const PairSpeed& pair) {
    return pair.one == std::min(one, other) && pair.other == std::max(one, other);
  });
  return found == facts.speeds.end() ? nullptr : &*found;
}

std::set<std::string> transportsOf(const PairFacts& facts) {
  std::set<std::string> transports;
  for (const PairSpeed& pair : facts.speeds)
    transports.insert(pair.transport);
  return transports;
}

/// One matrix of all ranks.
template <class Cell>
std::string matrix(const PairFacts& facts, std::string_view title, Cell cell) {
  cli::TextTable::Line header = {"rank"};
  for (int rank = 0; rank < facts.ranks; ++rank)
    header.push_back(std::to_string(rank));
  cli::TextTable table(header);
  for (int row = 0; row < facts.ranks; ++row) {
    cli::TextTable::Line line = {std::to_string(row)};
    for (int column = 0; column < facts.ranks; ++column) {
      const PairSpeed* const pair = find(facts, row, column);
      line.push_back(pair == nullptr ? "-" : cell(*pair));
    }
    table.add(line);
  }
  return fmt::format("{}\n{}", title, table.text());
}

}  // namespace

Findings examine(const PairFacts& facts) {
  if (!facts.whyNot.empty()) return {note(facts.whyNot)};
  if (!facts.measured.ok()) {
    return {problem(
        fmt::format("{} ranks could not be measured: {}", facts.ranks, facts.measured.message()),
        fmt::format("RONDO_LOG_LEVEL=info rondo perf all_reduce --ranks {}", facts.ranks))};
  }
  std::string names;
  for (const std::string& name : transportsOf(facts))
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  Findings findings = {
      ok(fmt::format("{} ranks of this host reach each other by {}", facts.ranks, names))};
  if (facts.ranks > facts.processors) {
    findings.push_back(
        note(fmt::format("{} ranks share {} processors: the numbers below hold "
                         "switches between them, and pairs are not compared",
                         facts.ranks, facts.processors)));
  } else {
    addSlowPairs(facts.speeds, findings);
  }
  return findings;
}

std::string matrixText(const PairFacts& facts) {
  if (facts.speeds.empty()) return {};
  std::string text =
      matrix(facts, fmt::format("latency, us (all-reduce of {} bytes)", kLatencyBytes),
             [](const PairSpeed& pair) { return fmt::format("{:.1f}", pair.latencyUs); });
  text += matrix(facts,
                 fmt::format("bandwidth, GB/s each way (all-gather of {} MiB per rank)",
                             kBandwidthBytes >> 20U),
                 [](const PairSpeed& pair) { return fmt::format("{:.2f}", pair.bandwidthGBs); });
  if (transportsOf(facts).size() > 1)
    text += matrix(facts, "transport", [](const PairSpeed& pair) { return pair.transport; });
  return text;
}

}  // namespace rondo::doctor
