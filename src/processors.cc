#include "src/processors.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <thread>

#include <sched.h>

#include "src/net/errno_text.h"

namespace rondo {

namespace {

/// What the kernel writes a mask to. It refuses buffers that are smaller than its own masks, which
/// hold up to 8192 processors (NR_CPUS of x86-64), whatever the machine has.
using KernelMask = std::array<std::uint64_t, 8192 / 64>;

static_assert(sizeof(cpu_set_t) * 8 == ProcessorMask::kMost);

/// Takes a number off the front of `text`; -1 if there is none.
int takeNumber(std::string_view& text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return -1;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// "3" or "3-5".
ProcessorMask parseRange(std::string_view text) {
  const int first = takeNumber(text);
  if (first < 0) return {};
  if (!text.starts_with('-')) return ProcessorMask::range(first, first);
  text.remove_prefix(1);
  return ProcessorMask::range(first, takeNumber(text));
}

}  // namespace

ProcessorMask ProcessorMask::range(int first, int last) {
  ProcessorMask mask;
  for (int processor = std::max(first, 0); processor <= std::min(last, kMost - 1); ++processor)
    mask.add(processor);
  return mask;
}

ProcessorMask ProcessorMask::parse(std::string_view list) {
  ProcessorMask mask;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    mask |= parseRange(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return mask;
}

void ProcessorMask::add(int processor) {
  if (processor < 0 || processor >= kMost) return;
  const auto bit = static_cast<unsigned>(processor);
  words_[bit / 64] |= std::uint64_t{1} << (bit % 64);
}

bool ProcessorMask::contains(int processor) const {
  if (processor < 0 || processor >= kMost) return false;
  const auto bit = static_cast<unsigned>(processor);
  return (words_[bit / 64] >> (bit % 64) & 1U) != 0;
}

int ProcessorMask::count() const {
  int count = 0;
  for (const std::uint64_t word : words_)
    count += std::popcount(word);
  return count;
}

int ProcessorMask::first() const {
  for (std::size_t word = 0; word < words_.size(); ++word) {
    if (words_[word] != 0) return static_cast<int>(word) * 64 + std::countr_zero(words_[word]);
  }
  return -1;
}

std::vector<int> ProcessorMask::list() const {
  std::vector<int> processors;
  for (int processor = 0; processor < kMost; ++processor) {
    if (contains(processor)) processors.push_back(processor);
  }
  return processors;
}

std::string ProcessorMask::text() const {
  std::string text;
  for (int first = 0; first < kMost; ++first) {
    if (!contains(first)) continue;
    int last = first;
    while (contains(last + 1))
      ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", first);
    if (last > first) text += fmt::format("-{}", last);
    first = last;
  }
  return text;
}

ProcessorMask& ProcessorMask::operator|=(const ProcessorMask& other) {
  for (std::size_t word = 0; word < words_.size(); ++word)
    words_[word] |= other.words_[word];
  return *this;
}

ProcessorMask operator&(const ProcessorMask& one, const ProcessorMask& other) {
  ProcessorMask both;
  for (std::size_t word = 0; word < both.words_.size(); ++word)
    both.words_[word] = one.words_[word] & other.words_[word];
  return both;
}

ProcessorMask allowedProcessors() {
  KernelMask kernelMask{};
  ProcessorMask::Words words{};
  if (::sched_getaffinity(0, sizeof kernelMask, reinterpret_cast<cpu_set_t*>(&kernelMask)) == 0) {
    std::copy_n(kernelMask.begin(), words.size(), words.begin());
  }
  const ProcessorMask allowed(words);
  if (!allowed.empty()) return allowed;
  return ProcessorMask::range(
      0, std::max(static_cast<int>(std::thread::hardware_concurrency()), 1) - 1);
}

int usableProcessors() {
  return allowedProcessors().count();
}

Status bindThisThread(const ProcessorMask& mask) {
  const ProcessorMask allowed = allowedProcessors();
  const ProcessorMask bound = mask & allowed;
  if (bound.empty()) {
    return Status::invalidArgument("cannot bind a thread to processors {}: it may use {} only",
                                   mask.text(), allowed.text());
  }
  cpu_set_t native;
  std::memcpy(&native, bound.words().data(), sizeof native);
  if (::sched_setaffinity(0, sizeof native, &native) == 0) return {};
  const int error = errno;
  return Status::systemError("cannot bind a thread to processors {}: {}", bound.text(),
                             errnoText(error));
}

}  // namespace rondo
