// What a reduction must give, bit for bit: a naive one-element-at-a-time reference in the order and
// precision that docs/numerics.md promises for each algorithm. It shares no arithmetic and no index
// arithmetic with the library.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "collectives/registry.h"
#include "kernels/data_type.h"
#include "src/planner.h"

namespace rondo::testing {

using Bytes = std::vector<std::byte>;

/// A reduction as far as its bits depend on it.
struct ReferenceCall {
  PlanRequest request;
  int ranks = 1;
  /// Which algorithm; for the ring and the tree of all-reduce also where it cuts the data.
  Plan plan;
  std::vector<int> hosts{};  ///< by rank; needed for algorithms of two levels
};

/// The reduction of the ranks' inputs: `count` elements, or for reduce-scatter all blocks.
/// @param inputs  one per rank, in rank order
/// @param factors premulsum only: one element of the type per rank
Bytes reduceNaively(const ReferenceCall& call,
                    std::span<const Bytes> inputs,
                    std::span<const Bytes> factors);

/// Where two buffers of elements differ, for people; empty if nowhere. Where `nanIsNan`, NaNs are
/// equal whatever their payload.
std::string describeDifference(DataType type,
                               bool nanIsNan,
                               std::span<const std::byte> expected,
                               std::span<const std::byte> actual);

/// An element's value, for people and for tests of plain numbers. Exact for all but 64-bit integers
/// beyond 2^53.
double elementValue(DataType type, const std::byte* element);

/// The element nearest to `value`, which must be in range of integers; appended to `bytes`.
void appendElement(DataType type, double value, Bytes& bytes);

/// Elements of those values.
Bytes elementsOf(DataType type, std::span<const double> values);

}  // namespace rondo::testing
