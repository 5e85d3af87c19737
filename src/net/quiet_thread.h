// Threads that the library starts: they take no signals, because a program's handlers must not run
// in a thread that the program does not know.
#pragma once

#include <functional>
#include <string_view>
#include <thread>

#include "src/status.h"

namespace rondo {

/// Starts a thread that runs `body`, with all signals blocked but those that a thread causes
/// itself: they mean a fault, and whoever handles faults wants to know.
/// @param name at most 15 characters; what `top -H` and debuggers show.
/// @errors SystemError.
Result<std::thread> startQuietThread(std::string_view name, std::function<void()> body);

}  // namespace rondo
