#include "src/size_text.h"

#include <charconv>
#include <limits>

namespace rondo {

namespace {

constexpr std::string_view kSuffixes = "KMGT";

/// The power of two that a suffix stands for; -1: none.
int shiftOf(std::string_view suffix) {
  if (suffix.empty()) return 0;
  if (suffix.size() != 1) return -1;
  const char upper = suffix[0] >= 'a' ? static_cast<char>(suffix[0] - 'a' + 'A') : suffix[0];
  const std::size_t at = kSuffixes.find(upper);
  return at == std::string_view::npos ? -1 : 10 * static_cast<int>(at + 1);
}

}  // namespace

Result<std::size_t> parseSize(std::string_view text) {
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const int shift =
      error == std::errc{} ? shiftOf({stop, static_cast<std::size_t>(end - stop)}) : -1;
  if (shift < 0) {
    return Status::invalidArgument("\"{}\" is no size; write bytes as 512, 64K, 1M or 2G", text);
  }
  if (number > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) >> shift) {
    return Status::invalidArgument("size {} is larger than any memory", text);
  }
  return number << shift;
}

std::string formatSize(std::size_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (value /= 1024; value >= 1024 && unit + 1 < kSuffixes.size(); ++unit)
    value /= 1024;
  return fmt::format("{:.4g} {}iB", value, kSuffixes[unit]);
}

}  // namespace rondo
