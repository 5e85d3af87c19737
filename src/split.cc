#include "src/split.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

namespace rondo {

namespace {

/// Before each payload: whether there is one. Ranks that have given up, or go nowhere, say nothing.
constexpr char kSpeaks = '+';

}  // namespace

Result<std::optional<SplitPart>> planSplit(std::span<const SplitWish> wishes, int rank) {
  for (std::size_t other = 0; other < wishes.size(); ++other) {
    if (wishes[other].color >= kNoColor) continue;
    return Status::invalidArgument(
        "rank {}: color {} of rank {} is negative; pass 0 or more, or RONDO_NO_COLOR ({})", rank,
        wishes[other].color, other, kNoColor);
  }
  const std::int32_t color = wishes[static_cast<std::size_t>(rank)].color;
  if (color == kNoColor) return std::optional<SplitPart>{};
  SplitPart part;
  for (int other = 0; other < static_cast<int>(wishes.size()); ++other) {
    if (wishes[static_cast<std::size_t>(other)].color == color) part.members.push_back(other);
  }
  std::ranges::stable_sort(
      part.members, {}, [&](int member) { return wishes[static_cast<std::size_t>(member)].key; });
  part.rank = static_cast<int>(std::ranges::find(part.members, rank) - part.members.begin());
  return std::optional(std::move(part));
}

SplitExchange::SplitExchange(GatherBytes gather, int ranks, std::vector<int> members)
    : gather_(std::move(gather)),
      ranks_(static_cast<std::size_t>(ranks)),
      members_(std::move(members)) {}

SplitExchange::~SplitExchange() {
  while (roundsLeft_ > 0 && !failed_)
    (void)round({});
}

Result<std::vector<std::string>> SplitExchange::allGather(std::string payload) {
  return round(kSpeaks + std::move(payload));
}

/// Gathers the lengths of all messages, then the messages, cut to the longest.
Result<std::vector<std::string>> SplitExchange::round(const std::string& message) {
  --roundsLeft_;
  const std::uint64_t length = message.size();
  std::vector<std::uint64_t> lengths(ranks_);
  Status status =
      gather_(std::as_bytes(std::span(&length, 1)), std::as_writable_bytes(std::span(lengths)));
  const std::uint64_t longest = status.ok() ? std::ranges::max(lengths) : 0;
  std::string own = message;
  own.resize(longest);
  std::string all(longest * ranks_, '\0');
  if (status.ok()) {
    status = gather_(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
  }
  failed_ = !status.ok();
  RONDO_RETURN_IF_ERROR(status);
  std::vector<std::string> payloads;
  for (const int member : members_) {
    const auto at = static_cast<std::size_t>(member);
    if (lengths[at] == 0) {
      return Status::peerLost(
          "rank {} of the communicator that is split has given up; its own "
          "error says why",
          member);
    }
    payloads.push_back(all.substr(at * longest + 1, lengths[at] - 1));
  }
  return payloads;
}

}  // namespace rondo
