// Randomness that nobody can predict, for secrets and nonces.
#pragma once

#include <cstddef>
#include <span>

#include "src/status.h"

namespace rondo {

/// Fills `bytes` from the system's random source.
/// @threads  any.
/// @errors   SystemError.
Status fillRandom(std::span<std::byte> bytes);

}  // namespace rondo
