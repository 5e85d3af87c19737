// The streams and events of host memory in this process, behind the handles that programs hold: as
// src/communicator_handles.h has it for communicators.
#pragma once

#include <memory>

#include "rondo/rondo.h"
#include "src/host_event.h"
#include "src/host_stream.h"
#include "src/status.h"

namespace rondo {

/// @errors OutOfMemory (4096 are alive).
Result<rondoStream_t> registerStream(std::unique_ptr<HostStream> stream);

/// The stream of a handle; null for NULL, the calling thread. Waits for nobody.
/// @errors InvalidArgument (no stream of this library's, so perhaps a cudaStream_t), InvalidUsage
///   (destroyed, or of the process that this one was forked off from).
Result<HostStream*> findStream(rondoStream_t handle);

/// Whether the handle is, or was, a stream on host memory.
bool isHostStream(rondoStream_t handle);

/// Gives ownership back; the handle is refused from now on. In a process that was forked off since
/// the stream was made it gives null and changes nothing.
/// @errors as findStream().
Result<std::unique_ptr<HostStream>> takeStream(rondoStream_t handle);

/// @errors OutOfMemory (4096 are alive).
Result<rondoEvent_t> registerEvent(std::shared_ptr<HostEvent> event);

/// The event of a handle, to be shared with what is issued on streams.
/// @errors InvalidArgument (NULL, or never made), InvalidUsage (destroyed, or of the process that
///   this one was forked off from).
Result<std::shared_ptr<HostEvent>> findEvent(rondoEvent_t handle);

/// Makes the handle invalid; in a process that was forked off since the event was made it changes
/// nothing.
/// @errors as findEvent().
Status dropEvent(rondoEvent_t handle);

}  // namespace rondo
