// The error feedbacks of this process, behind the handles that programs hold: as
// src/communicator_handles.h has it for communicators.
#pragma once

#include <memory>

#include "rondo/rondo.h"
#include "src/error_feedback.h"
#include "src/status.h"

namespace rondo {

/// @errors OutOfMemory (4096 are alive).
Result<rondoErrorFeedback_t> registerFeedback(std::shared_ptr<ErrorFeedback> feedback);

/// The feedback of a handle, to be shared with calls that use it.
/// @errors InvalidArgument (NULL, or never made), InvalidUsage (destroyed, or of the process that
///   this one was forked off from).
Result<std::shared_ptr<ErrorFeedback>> findFeedback(rondoErrorFeedback_t handle);

/// Makes the handle invalid; in a process that was forked off since it changes nothing.
/// @errors as findFeedback().
Status dropFeedback(rondoErrorFeedback_t handle);

}  // namespace rondo
