// Where the buffers of a schedule that is one stage of an operation lie in the memory of the whole
// operation.
#pragma once

#include <cstddef>

#include "collectives/step.h"

namespace rondo {

/// Offsets are in elements. Steps of one row only.
struct StepPlace {
  Source input = Source::kInput;  ///< what the stage takes for its input ...
  std::size_t inputOffset = 0;    ///< ... from here on
  Sink output = Sink::kOutput;    ///< kOutput, or the operation's scratch
  std::size_t outputOffset = 0;
  /// The stage's sums are those of the operation: what ends a fold is to be done here.
  bool completes = true;
  /// The stage's input lies in the operation's output, where the stage would copy it to.
  bool inputIsInPlace = false;

  /// `step` of the stage's schedule as a step of the operation.
  constexpr Step placed(Step step) const {
    std::size_t into = step.outputOffset + outputOffset;
    if (step.own == Source::kInput) {
      step.own = input;
      step.inputOffset += inputOffset;
      if (input == Source::kScratch) step.scratchOffset = step.inputOffset;
      if (inputIsInPlace) {
        into = step.inputOffset;
        step.to = Sink::kNone;
      }
    }
    if (step.to == Sink::kOutput) step.to = output;
    if (step.to == Sink::kScratch) step.scratchOffset = into;
    step.outputOffset = into;
    step.last = step.last && completes;
    return step;
  }
};

}  // namespace rondo
