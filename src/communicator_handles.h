// The communicators of this process, behind the handles that programs hold. Besides the log the
// only mutable state that is not owned by a communicator: a C handle has nothing else to be looked
// up in.
#pragma once

#include <memory>
#include <vector>

#include "rondo/rondo.h"
#include "src/communicator.h"
#include "src/status.h"

namespace rondo {

/// Takes ownership of all, or of none. `handles` is written only on success.
/// @errors OutOfMemory (4096 are alive).
Status registerCommunicators(std::vector<std::unique_ptr<Communicator>> communicators,
                             rondoComm_t* handles);

/// The communicator of a handle. Waits for nobody.
/// @errors InvalidArgument (NULL), InvalidUsage (destroyed, not a handle, or of the process that
///   this one was forked off from).
Result<Communicator*> findCommunicator(rondoComm_t handle);

/// Gives ownership back; the handle is refused from now on. In a process that was forked off since
/// the communicator was made it gives null and changes nothing: all of it is the parent's.
/// @errors as findCommunicator().
Result<std::unique_ptr<Communicator>> takeCommunicator(rondoComm_t handle);

}  // namespace rondo
