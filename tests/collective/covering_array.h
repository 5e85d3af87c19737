// Covering arrays: few test cases in which every legal pair of values of any two axes occurs, and
// every legal tuple of the values of chosen sets of three.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace rondo::testing {

struct Axis {
  std::string name;
  std::vector<std::string> values;
};

/// One value index per axis; kOpen where none is chosen yet.
using Row = std::vector<int>;
inline constexpr int kOpen = -1;

/// Which combinations have no meaning. `allows` is asked when all of `axes` are chosen.
struct Rule {
  std::vector<std::size_t> axes;
  std::function<bool(const Row&)> allows;
};

struct CoveringModel {
  std::vector<Axis> axes;
  std::vector<Rule> rules;
  /// Sets of axes to cover besides all pairs.
  std::vector<std::vector<std::size_t>> sets;
};

/// True if no rule forbids `row` (rules with an open axis do not).
bool isLegal(const CoveringModel& model, const Row& row);

/// Greedy (each row starts from a tuple that is not covered yet and takes, axis by axis, the value
/// that covers most). Deterministic for a seed. All rows are complete and legal.
std::vector<Row> makeCoveringArray(const CoveringModel& model, std::uint64_t seed);

struct Coverage {
  std::size_t possible = 0;  ///< tuples that some legal row has
  std::size_t covered = 0;   ///< those that `rows` have
};

/// Counts afresh, by search and by lookup in `rows`: all pairs, or the sets of the model.
Coverage measurePairs(const CoveringModel& model, const std::vector<Row>& rows);
Coverage measureSets(const CoveringModel& model, const std::vector<Row>& rows);

/// "algorithm=all_reduce/ring type=half ..."
std::string describeRow(const CoveringModel& model, const Row& row);

}  // namespace rondo::testing
