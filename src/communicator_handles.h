// The communicators of this process, behind the handles that programs hold. Besides the log the
// only mutable state that is not owned by a communicator: a C handle has nothing else to be looked
// up in.
#pragma once

#include <memory>
#include <vector>

#include "rondo/rondo.h"
#include "src/communicator.h"
#include "src/communicator_entry.h"
#include "src/status.h"

namespace rondo {

/// Takes ownership of all, or of none. `handles` is written only on success.
/// @errors OutOfMemory (4096 are alive), SystemError (no thread, where calls do not wait).
Status registerCommunicators(std::vector<std::unique_ptr<Communicator>> communicators,
                             rondoComm_t* handles);

/// Takes ownership.
/// @errors OutOfMemory (4096 are alive).
Result<rondoComm_t> registerEntry(std::unique_ptr<CommunicatorEntry> entry);

/// What a handle stands for, whether its communicator is made or not. Waits for nobody.
/// @errors as findCommunicator(), but for those of one that is not made.
Result<CommunicatorEntry*> findEntry(rondoComm_t handle);

/// The communicator of a handle. Waits for nobody.
/// @errors InvalidArgument (NULL), InvalidUsage (destroyed, not a handle, or of the process that
///   this one was forked off from; not made, or not yet).
Result<Communicator*> findCommunicator(rondoComm_t handle);

/// Gives ownership back; the handle is refused from now on. In a process that was forked off since
/// the communicator was made it gives null and changes nothing: all of it is the parent's.
/// @errors as findEntry().
Result<std::unique_ptr<CommunicatorEntry>> takeEntry(rondoComm_t handle);

}  // namespace rondo
