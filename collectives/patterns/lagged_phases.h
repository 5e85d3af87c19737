// Two phases of a pipeline woven into one sequence of steps.
#pragma once

#include <cstddef>

#include "collectives/partition.h"
#include "kernels/portability.h"

namespace rondo {

/// Every loop has a first phase (`firstSteps` steps) and a second one (`secondSteps` steps); the
/// second phase of loop i runs right after the first phase of loop i + lag. With lag 2, loops 0..4:
///
///     F0 F1 F2 S0 F3 S1 F4 S2 S3 S4
class LaggedPhases {
 public:
  struct Position {
    bool second;       ///< which phase
    std::size_t loop;  ///< of which loop
    std::size_t turn;  ///< which step of the phase
  };

  RONDO_HD constexpr LaggedPhases(std::size_t loops,
                                  std::size_t lag,
                                  std::size_t firstSteps,
                                  std::size_t secondSteps)
      : loops_(loops), lag_(minOf(lag, loops)), first_(firstSteps), second_(secondSteps) {}

  RONDO_HD constexpr std::size_t size() const { return loops_ * (first_ + second_); }

  RONDO_HD constexpr Position at(std::size_t index) const {
    const std::size_t lead = lag_ * first_;
    if (index < lead) return {false, index / first_, index % first_};
    const std::size_t inPairs = index - lead;
    const std::size_t pair = first_ + second_;
    const std::size_t pairs = loops_ - lag_;
    if (inPairs < pairs * pair) {
      const std::size_t loop = inPairs / pair;
      const std::size_t turn = inPairs % pair;
      if (turn < first_) return {false, loop + lag_, turn};
      return {true, loop, turn - first_};
    }
    const std::size_t inTail = inPairs - pairs * pair;
    return {true, pairs + inTail / second_, inTail % second_};
  }

 private:
  std::size_t loops_;
  std::size_t lag_;
  std::size_t first_;
  std::size_t second_;
};

}  // namespace rondo
