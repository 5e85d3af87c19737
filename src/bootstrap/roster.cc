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

Status Roster::checkIdentity(const PeerIdentity& who, const std::string& where) {
  if (who.rank < 0 || who.rank >= who.ranks || who.ranks > kMostRanks) {
    return Status::mismatch(
        "a rank {} of {} joined from {}; ranks go from 0 to the number of ranks less one, which is "
        "at most {}",
        who.rank, who.ranks, where, kMostRanks);
  }
  if (ranks_ == 0) {
    ranks_ = who.ranks;
    first_ = who.rank;
    firstWhere_ = where;
  }
  if (who.ranks == ranks_) return {};
  return Status::mismatch(
      "rank {} at {} was started as one of {} ranks, but rank {} at {} as one of {}; all ranks of "
      "a "
      "job must name the same number",
      who.rank, where, who.ranks, first_, firstWhere_, ranks_);
}

Status Roster::enter(const PeerIdentity& who, JoinMessage join, const std::string& where) {
  RONDO_RETURN_IF_ERROR(checkIdentity(who, where));
  if (join.round != round_) {
    return Status::mismatch(
        "rank {} at {} came to round {} of the rendezvous, which is at round {}", who.rank, where,
        join.round, round_);
  }
  const auto [entry, isNew] = entries_.try_emplace(who.rank, Entry{std::move(join.payload), where});
  if (isNew) return {};
  return Status::mismatch(
      "rank {} joined twice, from {} and from {}; each rank needs a number of its own, and each "
      "communicator a unique id of its own",
      who.rank, entry->second.where, where);
}

void Roster::depart(int rank, const std::string& where, Departure how) {
  gone_.insert_or_assign(rank, Absence{where, how});
}

void Roster::startNextRound() {
  entries_.clear();
  ++round_;
}

std::vector<std::byte> Roster::table() const {
  RONDO_CHECK(complete());
  std::vector<std::byte> stream;
  for (const auto& [rank, entry] : entries_) {
    appendEntry(stream, {.rank = rank, .payload = entry.payload});
  }
  return stream;
}

Status Roster::hopeless() const {
  if (gone_.empty() || entries_.empty()) return {};
  const auto& [rank, absence] = *gone_.begin();
  return Status::peerLost(
      "rank {} at {} {} before all ranks had {}; its own messages should say why (still missing: "
      "{})",
      rank, absence.where,
      absence.how == Departure::kFarewell ? "ended its part" : "closed its connection",
      round_ == 0 ? std::string("joined") : fmt::format("come to round {}", round_),
      listRanks(missing()));
}

Status Roster::overdue() const {
  const std::string what = round_ == 0 ? "joined" : fmt::format("came to round {}", round_);
  return Status::timeout(
      "only {} of {} ranks {} in time; missing: rank {}. Are they running, and can they reach the "
      "root?",
      entries_.size(), ranks_, what, listRanks(missing()));
}

std::vector<int> Roster::missing() const {
  std::vector<int> missing;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (!entries_.contains(rank)) missing.push_back(rank);
  }
  return missing;
}

}  // namespace rondo
