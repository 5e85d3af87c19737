// Which processors the calling thread may use. The one place that reads or changes an affinity
// mask: everything that counts, places or binds threads starts from here, so that nothing is ever
// placed where the kernel, a container or the user does not want it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/status.h"

namespace rondo {

/// A set of processors by the numbers that the operating system gives them.
class ProcessorMask {
 public:
  /// Processors from this number on are left out; as many as glibc's cpu_set_t holds.
  static constexpr int kMost = 1024;
  /// Bit i of word w stands for processor 64 w + i.
  using Words = std::array<std::uint64_t, kMost / 64>;

  /// Empty.
  ProcessorMask() = default;

  explicit ProcessorMask(const Words& words) : words_(words) {}

  /// Processors `first` to `last`, both included.
  static ProcessorMask range(int first, int last);

  /// Reads "0-3,8": the way of /sys and of taskset. What is no number or range is left out.
  static ProcessorMask parse(std::string_view list);

  void add(int processor);

  bool contains(int processor) const;

  bool empty() const { return count() == 0; }

  /// How many there are.
  int count() const;

  /// The lowest number; -1 if empty.
  int first() const;

  /// All numbers, ascending.
  std::vector<int> list() const;

  /// "0-3,8", empty for none.
  std::string text() const;

  /// True if `other` has all of these.
  bool isWithin(const ProcessorMask& other) const { return (*this & other) == *this; }

  const Words& words() const { return words_; }

  ProcessorMask& operator|=(const ProcessorMask& other);

  /// What both have.
  friend ProcessorMask operator&(const ProcessorMask& one, const ProcessorMask& other);

  // The check mistakes a zero that the compiler adds: NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const ProcessorMask&, const ProcessorMask&) = default;

 private:
  Words words_{};
};

/// The calling thread's affinity mask, never empty. The kernel keeps it within the control group's
/// cpuset. Where it cannot be read: as many processors as the machine has.
ProcessorMask allowedProcessors();

/// Processors in the calling thread's affinity mask, at least 1.
int usableProcessors();

/// Lets the calling thread run on those processors of `mask` only that it may use now; so it can
/// only narrow. The library binds no thread by itself.
/// @errors InvalidArgument (it may use none of them), SystemError; its affinity is then unchanged.
Status bindThisThread(const ProcessorMask& mask);

}  // namespace rondo
