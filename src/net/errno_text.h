// What the system says about a failed call.
#pragma once

#include <string>

namespace rondo {

/// "Connection refused" for ECONNREFUSED, ...
/// @param error a value of errno; take it before anything else can change errno.
/// @threads  any.
std::string errnoText(int error);

}  // namespace rondo
