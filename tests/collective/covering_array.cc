#include "tests/collective/covering_array.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace rondo::testing {

namespace {

using AxisSet = std::vector<std::size_t>;

int valuesOf(const CoveringModel& model, std::size_t axis) {
  return static_cast<int>(model.axes[axis].values.size());
}

std::vector<AxisSet> allPairs(const CoveringModel& model) {
  std::vector<AxisSet> pairs;
  for (std::size_t a = 0; a < model.axes.size(); ++a) {
    for (std::size_t b = a + 1; b < model.axes.size(); ++b)
      pairs.push_back({a, b});
  }
  return pairs;
}

/// True if the open axes can be chosen so that the row is legal. Axes without a rule are free.
bool isCompletable(const CoveringModel& model, Row& row, const AxisSet& ruled, std::size_t at = 0) {
  if (!isLegal(model, row)) return false;
  while (at < ruled.size() && row[ruled[at]] != kOpen)
    ++at;
  if (at == ruled.size()) return true;
  const std::size_t axis = ruled[at];
  bool found = false;
  for (int value = 0; value < valuesOf(model, axis) && !found; ++value) {
    row[axis] = value;
    found = isCompletable(model, row, ruled, at + 1);
  }
  row[axis] = kOpen;
  return found;
}

AxisSet ruledAxes(const CoveringModel& model) {
  std::set<std::size_t> axes;
  for (const Rule& rule : model.rules)
    axes.insert(rule.axes.begin(), rule.axes.end());
  return {axes.begin(), axes.end()};
}

/// The tuples of one set of axes, numbered in mixed radix.
class TupleTable {
 public:
  enum class State : char { kImpossible, kOpen, kCovered };

  TupleTable(const CoveringModel& model, AxisSet axes) : axes_(std::move(axes)) {
    std::size_t tuples = 1;
    for (const std::size_t axis : axes_) {
      radices_.push_back(valuesOf(model, axis));
      tuples *= static_cast<std::size_t>(radices_.back());
    }
    states_.assign(tuples, State::kImpossible);
    const AxisSet ruled = ruledAxes(model);
    Row row(model.axes.size(), kOpen);
    for (std::size_t tuple = 0; tuple < tuples; ++tuple) {
      choose(tuple, row);
      if (isCompletable(model, row, ruled)) states_[tuple] = State::kOpen;
    }
  }

  std::size_t size() const { return states_.size(); }

  State state(std::size_t tuple) const { return states_[tuple]; }

  const AxisSet& axes() const { return axes_; }

  /// Writes the tuple's values to `row`.
  void choose(std::size_t tuple, Row& row) const {
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const auto radix = static_cast<std::size_t>(radices_[i]);
      row[axes_[i]] = static_cast<int>(tuple % radix);
      tuple /= radix;
    }
  }

  /// True if `row` has all axes of the set and the tuple is not covered yet.
  bool wouldCover(const Row& row) const {
    for (const std::size_t axis : axes_) {
      if (row[axis] == kOpen) return false;
    }
    return states_[numberOf(row)] == State::kOpen;
  }

  void cover(const Row& row) { states_[numberOf(row)] = State::kCovered; }

 private:
  std::size_t numberOf(const Row& row) const {
    std::size_t number = 0;
    for (std::size_t i = axes_.size(); i-- > 0;)
      number =
          number * static_cast<std::size_t>(radices_[i]) + static_cast<std::size_t>(row[axes_[i]]);
    return number;
  }

  AxisSet axes_;
  std::vector<int> radices_;
  std::vector<State> states_;
};

class Generator {
 public:
  Generator(const CoveringModel& model, std::uint64_t seed)
      : model_(model), ruled_(ruledAxes(model)), random_(seed), tablesOf_(model.axes.size()) {
    std::vector<AxisSet> sets = model.sets;
    for (AxisSet& pair : allPairs(model))
      sets.push_back(std::move(pair));
    for (AxisSet& set : sets) {
      for (const std::size_t axis : set)
        tablesOf_[axis].push_back(tables_.size());
      tables_.emplace_back(model, std::move(set));
    }
  }

  std::vector<Row> run() {
    for (TupleTable& table : tables_) {
      for (std::size_t tuple = 0; tuple < table.size(); ++tuple) {
        if (table.state(tuple) != TupleTable::State::kOpen) continue;
        Row row(model_.axes.size(), kOpen);
        table.choose(tuple, row);
        complete(row);
        for (TupleTable& covered : tables_)
          covered.cover(row);
        rows_.push_back(std::move(row));
      }
    }
    return std::move(rows_);
  }

 private:
  void complete(Row& row) {
    AxisSet order(row.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    for (const std::size_t axis : order) {
      if (row[axis] == kOpen) row[axis] = bestValue(row, axis);
    }
  }

  /// The value that covers most; among equals a random one.
  int bestValue(Row& row, std::size_t axis) {
    std::vector<int> best;
    std::size_t most = 0;
    for (int value = 0; value < valuesOf(model_, axis); ++value) {
      row[axis] = value;
      const std::size_t gain = gainOf(row, axis);
      if (!best.empty() && gain < most) continue;
      if (!isCompletable(model_, row, ruled_)) continue;
      if (gain > most) best.clear();
      most = std::max(most, gain);
      best.push_back(value);
    }
    row[axis] = kOpen;
    return best[random_() % best.size()];
  }

  std::size_t gainOf(const Row& row, std::size_t axis) const {
    std::size_t gain = 0;
    for (const std::size_t table : tablesOf_[axis])
      gain += tables_[table].wouldCover(row) ? 1U : 0U;
    return gain;
  }

  const CoveringModel& model_;
  AxisSet ruled_;
  std::mt19937_64 random_;
  std::vector<TupleTable> tables_;
  std::vector<std::vector<std::size_t>> tablesOf_;  // by axis: tables it is in
  std::vector<Row> rows_;
};

Coverage measure(const CoveringModel& model,
                 const std::vector<AxisSet>& sets,
                 const std::vector<Row>& rows) {
  const AxisSet ruled = ruledAxes(model);
  Coverage coverage;
  for (const AxisSet& set : sets) {
    std::set<std::vector<int>> seen;
    for (const Row& row : rows) {
      std::vector<int> values;
      for (const std::size_t axis : set)
        values.push_back(row[axis]);
      seen.insert(values);
    }
    coverage.covered += seen.size();
    // All tuples by counting up, the first axis fastest.
    Row row(model.axes.size(), kOpen);
    for (const std::size_t axis : set)
      row[axis] = 0;
    for (std::size_t carried = 0; carried < set.size();) {
      coverage.possible += isCompletable(model, row, ruled) ? 1U : 0U;
      for (carried = 0; carried < set.size(); ++carried) {
        if (++row[set[carried]] < valuesOf(model, set[carried])) break;
        row[set[carried]] = 0;
      }
    }
  }
  return coverage;
}

}  // namespace

bool isLegal(const CoveringModel& model, const Row& row) {
  return std::ranges::all_of(model.rules, [&](const Rule& rule) {
    const bool open =
        std::ranges::any_of(rule.axes, [&](std::size_t axis) { return row[axis] == kOpen; });
    return open || rule.allows(row);
  });
}

std::vector<Row> makeCoveringArray(const CoveringModel& model, std::uint64_t seed) {
  return Generator(model, seed).run();
}

Coverage measurePairs(const CoveringModel& model, const std::vector<Row>& rows) {
  return measure(model, allPairs(model), rows);
}

Coverage measureSets(const CoveringModel& model, const std::vector<Row>& rows) {
  return measure(model, model.sets, rows);
}

std::string describeRow(const CoveringModel& model, const Row& row) {
  std::string text;
  for (std::size_t axis = 0; axis < row.size(); ++axis) {
    if (axis > 0) text += ' ';
    text +=
        model.axes[axis].name + '=' + model.axes[axis].values[static_cast<std::size_t>(row[axis])];
  }
  return text;
}

}  // namespace rondo::testing
