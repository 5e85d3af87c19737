#include "tests/cuda/emulator/report.h"

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>

namespace rondo::emulator {
namespace {

/// Lines about threads, and ranges of threads in a line, before the rest is only counted.
constexpr std::size_t kMaxLines = 40;
constexpr std::size_t kMaxRanges = 6;

/// Threads of a block that do the same.
struct Group {
  const Thread* first = nullptr;
  const Thread* last = nullptr;
  /// First and last number of each range.
  std::vector<std::pair<unsigned, unsigned>> ranges;
};

bool doTheSame(const Thread& one, const Thread& other) {
  return one.operation == other.operation && one.waiting == other.waiting;
}

void addTo(std::vector<Group>& groups, const Thread& thread) {
  auto group = std::find_if(groups.begin(), groups.end(), [&thread](const Group& each) {
    return doTheSame(*each.first, thread);
  });
  if (group == groups.end()) group = groups.insert(group, Group{&thread, &thread, {}});
  group->last = &thread;
  if (!group->ranges.empty() && group->ranges.back().second + 1 == thread.index) {
    group->ranges.back().second = thread.index;
  } else {
    group->ranges.emplace_back(thread.index, thread.index);
  }
}

std::vector<Group> groupsOf(const Block& block) {
  std::vector<Group> groups;
  for (const Thread& thread : block.threads) {
    if (!thread.ended) addTo(groups, thread);
  }
  return groups;
}

std::string rangesText(const Group& group) {
  const bool single = group.ranges.size() == 1 && group.ranges[0].first == group.ranges[0].second;
  std::string text = single ? "thread " : "threads ";
  for (std::size_t i = 0; i < group.ranges.size(); ++i) {
    if (i == kMaxRanges) return text + ", ...";
    const auto [begin, end] = group.ranges[i];
    if (i > 0) text += ", ";
    text += std::to_string(begin);
    if (end != begin) text += "-" + std::to_string(end);
  }
  return text;
}

std::string addressText(const void* address, const std::vector<NamedMemory>& memory) {
  const auto* const place = static_cast<const std::byte*>(address);
  for (const NamedMemory& each : memory) {
    if (place >= each.begin && place < each.begin + each.bytes)
      return each.name + " + " + std::to_string(place - each.begin);
  }
  char text[32];
  std::snprintf(text, sizeof text, "%p", address);
  return text;
}

/// What is to be read there now.
std::string valueText(const Thread& thread) {
  char text[64] = "";
  switch (thread.operation) {
    case Operation::kObserveCounter:
    case Operation::kPostCounter:
      std::snprintf(text, sizeof text, " (value %" PRIu64 ")",
                    *static_cast<const std::uint64_t*>(thread.address));
      break;
    case Operation::kPeekFlag:
      std::snprintf(text, sizeof text, " (value %" PRIu32 ")",
                    *static_cast<const std::uint32_t*>(thread.address));
      break;
    case Operation::kPeekPack: {
      const auto& pack = *static_cast<const device::Pack*>(thread.address);
      std::snprintf(text, sizeof text, " (value %016" PRIx64 " %016" PRIx64 ")", pack.half[0],
                    pack.half[1]);
      break;
    }
    default:
      break;
  }
  return text;
}

std::string gridText(const Grid& grid) {
  return grid.launch.kernel.empty() ? grid.launch.name
                                    : grid.launch.name + " (" + grid.launch.kernel + ")";
}

std::string threadText(const Thread& thread) {
  const Block& block = *thread.block;
  return gridText(block.grid) + " block " + std::to_string(block.index) + " thread " +
         std::to_string(thread.index);
}

std::string groupText(const Block& block,
                      const Group& group,
                      const std::vector<NamedMemory>& memory) {
  const Thread& thread = *group.first;
  std::string text = gridText(block.grid) + " block " + std::to_string(block.index) + " " +
                     rangesText(group) + (thread.waiting ? ": wait in " : ": in ") +
                     name(thread.operation);
  if (thread.address == nullptr) return text;
  text += " at " + addressText(thread.address, memory) + valueText(thread);
  if (group.last->address != thread.address)
    text += " ... " + addressText(group.last->address, memory) + valueText(*group.last);
  return text;
}

/// What of a stream has not started.
void addQueue(std::vector<std::string>& lines, const Stream& stream) {
  for (const Grid* grid : stream.queue) {
    const unsigned rest = grid->launch.blocks - grid->started;
    if (rest == 0) continue;
    lines.push_back(gridText(*grid) + ": " + std::to_string(rest) + " of " +
                    std::to_string(grid->launch.blocks) + " blocks have not started" +
                    (grid == stream.queue.front() ? ", no place is free"
                                                  : ", as the launch before has not ended"));
  }
}

std::string causeText(const Scheduler& scheduler, Verdict verdict, const Options& options) {
  const std::string who = scheduler.culprit() == nullptr ? "" : threadText(*scheduler.culprit());
  const std::string where =
      scheduler.culprit() == nullptr ? "" : name(scheduler.culprit()->operation);
  switch (verdict) {
    case Verdict::kFinished:
      return "finished";
    case Verdict::kDeadlock:
      return "deadlock: nobody got on during " + std::to_string(options.idleRounds) +
             " rounds of all threads";
    case Verdict::kAllWait:
      return "deadlock: all threads wait for each other";
    case Verdict::kDeadline:
      return "not finished after " + std::to_string(options.deadline.count()) + " ms";
    case Verdict::kWrongMeeting:
      return who + " calls " + where +
             " while others of its block or warp wait in another function";
    case Verdict::kMissedMeeting:
      return who + ": a thread has ended that others of its block or warp wait for";
    case Verdict::kWrongLine:
      return who + ": the packs that its warp brings to " + where +
             " are not whole lines of 128 bytes";
  }
  return "?";
}

std::string howToRepeat(const Options& options) {
  std::string text = options.schedule == Schedule::kRandom ? "random" : "round robin";
  text += ", seed " + std::to_string(options.seed);
  if (options.tearPacks) text += ", torn packs";
  if (options.tearLines) text += ", torn lines";
  if (options.residentBlocks != 0)
    text += ", " + std::to_string(options.residentBlocks) + " resident blocks";
  return text;
}

}  // namespace

std::string reportOf(const Scheduler& scheduler,
                     Verdict verdict,
                     const Options& options,
                     const std::vector<NamedMemory>& memory) {
  std::vector<std::string> lines;
  for (const auto& block : scheduler.blocks()) {
    for (const Group& group : groupsOf(*block))
      lines.push_back(groupText(*block, group, memory));
  }
  for (const Stream& stream : scheduler.streams())
    addQueue(lines, stream);

  std::string text = causeText(scheduler, verdict, options) + "\nschedule: " + howToRepeat(options);
  for (std::size_t i = 0; i < lines.size() && i < kMaxLines; ++i)
    text += "\n  " + lines[i];
  if (lines.size() > kMaxLines)
    text += "\n  ... and " + std::to_string(lines.size() - kMaxLines) + " lines more";
  return text;
}

}  // namespace rondo::emulator
