#include "src/bootstrap/roster.h"

#include <utility>

#include "src/bootstrap/rendezvous_messages.h"

namespace rondo {

namespace {

/// So that a message about thousands of ranks can still be read.
constexpr std::size_t kMostRangesListed = 12;

/// Consecutive ranks, both ends included.
using Range = std::pair<int, int>;

std::vector<Range> rangesOf(const std::vector<int>& ranks) {
  std::vector<Range> ranges;
  for (const int rank : ranks) {
    if (!ranges.empty() && ranges.back().second == rank - 1) {
      ranges.back().second = rank;
    } else {
      ranges.emplace_back(rank, rank);
    }
  }
  return ranges;
}

std::string textOf(Range range) {
  const auto [first, last] = range;
  if (first == last) return std::to_string(first);
  return fmt::format("{}{}{}", first, last == first + 1 ? ", " : " to ", last);
}

}  // namespace

std::string listRanks(const std::vector<int>& ranks) {
  std::string list;
  std::size_t listed = 0;
  std::size_t left = ranks.size();
  for (const Range& range : rangesOf(ranks)) {
    if (listed++ == kMostRangesListed) return list + fmt::format(" and {} more", left);
    list += fmt::format("{}{}", list.empty() ? "" : ", ", textOf(range));
    left -= static_cast<std::size_t>(range.second - range.first) + 1;
  }
  return list;
}

Status Roster::enter(const PeerIdentity& who, std::string payload, const std::string& where) {
  if (who.rank < 0 || who.rank >= who.ranks || who.ranks > kMostRanks) {
    return Status::mismatch(
        "a rank {} of {} joined from {}; ranks go from 0 to the number of ranks less one, which is "
        "at most {}",
        who.rank, who.ranks, where, kMostRanks);
  }
  if (ranks_ == 0) {
    ranks_ = who.ranks;
    first_ = who.rank;
  }
  if (who.ranks != ranks_) {
    return Status::mismatch(
        "rank {} at {} was started as one of {} ranks, but rank {} at {} as one of {}; all ranks "
        "of "
        "a job must name the same number",
        who.rank, where, who.ranks, first_, entries_.at(first_).where, ranks_);
  }
  const auto [entry, isNew] = entries_.try_emplace(who.rank, Entry{std::move(payload), where});
  if (isNew) return {};
  return Status::mismatch(
      "rank {} joined twice, from {} and from {}; each rank needs a number of its own, and each "
      "communicator a unique id of its own",
      who.rank, entry->second.where, where);
}

std::vector<std::byte> Roster::table() const {
  RONDO_CHECK(complete());
  std::vector<std::byte> stream;
  for (const auto& [rank, entry] : entries_) {
    appendEntry(stream, {.rank = rank, .payload = entry.payload});
  }
  return stream;
}

Status Roster::departure(int rank) const {
  return Status::peerLost(
      "rank {} at {} closed its connection before all ranks had joined; its own messages should "
      "say why (still missing: {})",
      rank, entries_.at(rank).where, listRanks(missing()));
}

Status Roster::overdue() const {
  return Status::timeout(
      "only {} of {} ranks joined in time; missing: rank {}. Are they running, and can they reach "
      "the root?",
      entries_.size(), ranks_, listRanks(missing()));
}

std::vector<int> Roster::missing() const {
  std::vector<int> missing;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (!entries_.contains(rank)) missing.push_back(rank);
  }
  return missing;
}

}  // namespace rondo
