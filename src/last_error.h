// What rondoGetLastError gives: the messages of a thread's last failures. One small ring per
// thread, because the C API has no other place where a message could live.
#pragma once

#include <cstdint>
#include <string_view>

namespace rondo {

/// Remembers a failure of the calling thread.
/// @param handle the communicator of the failed call; 0: none.
void rememberFailure(std::uint64_t handle, std::string_view message) noexcept;

/// The newest failure of the calling thread on `handle` (0: on any) among its last 8; "" if none.
/// Valid until the thread's next failure.
const char* lastFailure(std::uint64_t handle) noexcept;

}  // namespace rondo
