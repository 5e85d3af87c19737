// Which payloads need not be copied into slots. The host executor and the verifier call this one
// function, so what is proved to stay as it is while it is read is what is left where it is. The
// rules around it: transports/memory_names.h.
#pragma once

#include "collectives/step.h"
#include "kernels/arithmetic.h"

namespace rondo {

/// Where the payload that `step` sends lies, byte for byte as in a slot, in the caller's buffers,
/// to stay there until the operation is complete: kInput at step.inputOffset, kOutput at
/// step.outputOffset, or kNone.
/// @param inputStays nothing is stored over input that was sent before it was read: the output is
///   elsewhere, or the algorithm does not do so (AlgorithmInfo::storesOverSentInput)
constexpr Source lastingPayload(const Step& step, const StepArithmetic& rules, bool inputStays) {
  if (step.send.count == 0 || step.rows.count != 1 || step.sendWire != Wire::kNative)
    return Source::kNone;
  const bool ownAlone = step.recv.count == 0 && rules.onlyMoves(step);
  // Rather than a copy of it, to which the next operation has to store again.
  if (ownAlone && step.own == Source::kInput && inputStays) return Source::kInput;
  // No schedule stores an element of the output twice.
  const bool inOutput = step.to == Sink::kOutput || (ownAlone && step.own == Source::kOutput);
  return inOutput ? Source::kOutput : Source::kNone;
}

}  // namespace rondo
