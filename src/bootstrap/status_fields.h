// A failure as fields of a frame.
#pragma once

#include "src/bootstrap/frame.h"
#include "src/status.h"

namespace rondo {

/// Longer texts are cut. Room for every list of ranks that a failure may hold.
inline constexpr std::size_t kMaxFailureText = 4096;

/// @param failure not ok.
void putFailure(FieldWriter& fields, const Status& failure);

/// What putFailure() put; a code that no version knows becomes Internal. Never ok.
/// @errors PeerLost: no such fields.
Status takeFailure(FieldReader& fields);

}  // namespace rondo
