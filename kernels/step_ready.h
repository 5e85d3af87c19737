// The progress rule. The host executor, the CUDA emulator and the verifier all call this one
// function, so what is proved deadlock-free is what runs.
#pragma once

#include "collectives/step.h"
#include "kernels/portability.h"

namespace rondo {

/// True if every connection that `step` receives from has a full slot and every one that it sends
/// to has a free slot.
/// @param ends provides `recvSlotFull(index)` and `sendSlotFree(index)` for the indices of the
///             schedule's receive and send tables; once true, both must stay true until the step
///             ran.
template <class Ends>
RONDO_HD constexpr bool stepReady(const Step& step, Ends&& ends) {
  for (int i = 0; i < step.recv.count; ++i) {
    if (!ends.recvSlotFull(step.recv.first + i)) return false;
  }
  for (int i = 0; i < step.send.count; ++i) {
    if (!ends.sendSlotFree(step.send.first + i)) return false;
  }
  return true;
}

}  // namespace rondo
