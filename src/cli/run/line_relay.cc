#include "src/cli/run/line_relay.h"

#include <array>
#include <cerrno>
#include <utility>

#include "src/format.h"

namespace rondo::run {

namespace {

constexpr std::size_t kReadBytes = 65536;
/// A longer line is passed on in parts, so that a rank cannot fill this process's memory.
constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;

}  // namespace

LineRelay::LineRelay(FileDescriptor source, std::FILE* sink, std::string prefix, std::FILE* copy)
    : source_(std::move(source)), sink_(sink), prefix_(std::move(prefix)), copy_(copy) {}

void LineRelay::relay() {
  std::array<char, kReadBytes> bytes;
  while (source_.valid()) {
    const ssize_t got = ::read(source_.get(), bytes.data(), bytes.size());
    if (got > 0) {
      take(std::string_view(bytes.data(), static_cast<std::size_t>(got)));
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
      if (!partial_.empty()) emit(std::exchange(partial_, {}));
      source_.reset();
    } else if (errno == EAGAIN) {
      break;
    }
  }
  (void)std::fflush(sink_);
  if (copy_ != nullptr) (void)std::fflush(copy_);
}

void LineRelay::take(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    partial_ += bytes.substr(0, end);
    if (end == std::string_view::npos) break;
    emit(std::exchange(partial_, {}));
    bytes.remove_prefix(end + 1);
  }
  if (partial_.size() > kMaxLineBytes) emit(std::exchange(partial_, {}));
}

void LineRelay::emit(std::string_view line) {
  fmt::print(sink_, "{}{}\n", prefix_, line);
  if (copy_ != nullptr) fmt::print(copy_, "{}\n", line);
}

}  // namespace rondo::run
