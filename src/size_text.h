// Byte counts as people write and read them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "src/status.h"

namespace rondo {

/// Reads "512", "64K", "1M" or "2G", in either case: powers of 1024.
/// @errors InvalidArgument
Result<std::size_t> parseSize(std::string_view text);

/// "1 MiB", "1.5 KiB", "100 bytes".
std::string formatSize(std::size_t bytes);

}  // namespace rondo
