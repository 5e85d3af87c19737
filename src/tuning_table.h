// What `rondo tune` has measured on a machine, and the planner prefers to its model.
//
// A text file, one measurement a line, "#" before remarks:
//
//     # collective  ranks  bytes   algorithm  chunk bytes  microseconds
//     all_reduce    2      32768   two_shot   16384        5.12
//
// Bytes are those of callBytes() (src/planner.h). A size that was not measured is treated as the
// nearest one that was, by ratio; a number of ranks that was not measured is left to the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/registry.h"
#include "src/status.h"

namespace rondo {

struct TuningEntry {
  AlgorithmId algorithm{};
  int ranks = 0;
  std::size_t bytes = 0;
  std::size_t chunkBytes = 0;
  double micros = 0;

  friend bool operator==(const TuningEntry&, const TuningEntry&) = default;
};

/// @threads any; const once made
class TuningTable {
 public:
  TuningTable() = default;

  /// In any order; of equal ones (all but the time) the faster counts.
  explicit TuningTable(std::vector<TuningEntry> entries);

  /// @errors InvalidArgument, naming the line
  static Result<TuningTable> parse(std::string_view text);

  /// @errors InvalidArgument (cannot be read, or as parse()), naming the file
  static Result<TuningTable> load(const std::string& path);

  /// As parse() reads it.
  std::string text() const;

  std::span<const TuningEntry> entries() const { return entries_; }

  /// Differs, with all likelihood, where plans might.
  std::uint64_t hash() const;

  /// What was measured at the size nearest to `bytes`; empty: nothing for this collective on so
  /// many ranks.
  std::span<const TuningEntry> nearest(Collective collective, int ranks, std::size_t bytes) const;

 private:
  std::vector<TuningEntry> entries_;  // by collective, ranks, bytes, algorithm, chunk
};

}  // namespace rondo
