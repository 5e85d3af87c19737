// The buffers of one rank during one call, element by element: what was written, what in-place
// storing destroyed, and which accesses are out of bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/schedule/call.h"
#include "tests/schedule/failure.h"
#include "tests/schedule/symbolic_value.h"

namespace rondo::verifier {

class RankMemory {
 public:
  RankMemory(const Call& call, std::size_t callIndex, int rank, int ranks, std::size_t scratch);

  /// Whether `elems` elements at `at` of the input, output or scratch may be touched.
  Failure checkRow(Source from, std::size_t at, std::size_t elems) const;

  Failure checkRow(Sink to, std::size_t at, std::size_t elems) const;

  /// Reads an element of a checked row as element `index` of step `step`.
  Failure read(Source from, std::size_t at, std::size_t step, std::size_t index, Value& value);

  /// Stores an element of a checked row as element `index` of step `step`.
  Failure write(Sink to, std::size_t at, std::size_t step, std::size_t index, const Value& value);

  /// Whether `values` are what lies at `at` of the input or output now.
  bool holds(Source buffer, std::size_t at, const std::vector<Value>& values) const;

  std::size_t outputElems() const { return output_.size(); }

  /// The stored output element; null where none was stored.
  const Value* output(std::size_t at) const {
    return output_[at].written ? &output_[at].value : nullptr;
  }

 private:
  struct Cell {
    Value value;
    std::uint32_t readStep = ~std::uint32_t{0};  ///< the last step that read it as its own ...
    std::uint32_t readIndex = 0;                 ///< ... and as which element
    bool written = false;
  };

  static void mark(Cell& cell, std::size_t step, std::size_t index) {
    cell.readStep = static_cast<std::uint32_t>(step);
    cell.readIndex = static_cast<std::uint32_t>(index);
  }

  Failure checkUserRow(std::size_t at, std::size_t elems, std::size_t size) const;

  /// The output cell that input element `at` shares its place with; null if none.
  const Cell* alias(std::size_t at) const;

  const Call& call_;
  std::size_t callIndex_;
  int rank_;
  std::size_t inputElems_;
  std::vector<Cell> output_;
  std::vector<Cell> scratch_;
};

}  // namespace rondo::verifier
