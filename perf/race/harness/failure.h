// The one way out of a race that cannot go on.
#pragma once

#include <string_view>

namespace rondo::race {

/// Prints what went wrong and ends the process with kFailedStatus; the other ranks are ended by
/// whoever started them.
[[noreturn]] void fail(std::string_view what);

/// As fail(), with the text of `errno`.
[[noreturn]] void failSystem(std::string_view call);

inline constexpr int kFailedStatus = 2;

}  // namespace rondo::race
