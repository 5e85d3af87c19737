// How many processors this process may use.
#pragma once

namespace rondo {

/// Processors in the calling thread's affinity mask, at least 1.
int usableProcessors();

}  // namespace rondo
