// What a call must leave in the outputs, derived from what the algorithms promise in their file
// heads and not from their schedules.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "tests/schedule/call.h"
#include "tests/schedule/symbolic_value.h"

namespace rondo::verifier {

class ExpectedResults {
 public:
  ExpectedResults(const Call& call, std::size_t callIndex, int ranks);

  /// False if the algorithm's order is not known here: a new algorithm needs a line.
  bool known() const { return known_; }

  /// Index in the contributors' inputs of what belongs into output element `at` of `rank`.
  std::size_t element(int rank, std::size_t at) const;

  /// The ranks that must have contributed to output element `at`.
  RankSet contributors(std::size_t at) const;

  /// The expression that must be stored in output element `at` of `rank`.
  Expression expression(int rank, std::size_t at);

 private:
  Expression input(int rank, std::size_t element) const {
    return inputExpression(callIndex_, rank, element);
  }

  int mover(std::size_t at) const;
  Expression reduced(std::size_t element, int owner) const;
  Expression rankOrderSum(std::size_t element) const;
  Expression ringSum(std::size_t element, int owner) const;
  Expression binomialSum(std::size_t element, int owner, int place, int distance) const;
  Expression treeSum(std::size_t element, int begin, int end) const;
  int treeRank(int position) const;

  const Call& call_;
  std::size_t callIndex_;
  int ranks_;
  bool known_;
  std::vector<std::optional<Expression>> sums_;  // all-reduce: every rank asks for the same ones
  std::vector<int> owners_;                      // all-reduce ring: whose chunk an element is in
};

}  // namespace rondo::verifier
