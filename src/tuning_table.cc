#include "src/tuning_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <tuple>

#include "src/plan_rule.h"

namespace rondo {

namespace {

Collective collectiveOf(const TuningEntry& entry) {
  return algorithmInfo(entry.algorithm).collective;
}

/// Where an entry stands, but for its size.
auto section(const TuningEntry& entry) {
  return std::tuple(collectiveOf(entry), entry.ranks);
}

auto place(const TuningEntry& entry) {
  return std::tuple(collectiveOf(entry), entry.ranks, entry.bytes, entry.algorithm,
                    entry.chunkBytes);
}

std::vector<std::string_view> wordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view kBlanks = " \t\r";
  for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

template <class Number>
bool readNumber(std::string_view word, Number& number) {
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  return error == std::errc{} && stop == end;
}

/// Names are those of rules, two levels among them.
std::optional<AlgorithmId> findByNames(std::string_view collective, std::string_view algorithm) {
  const Result<std::vector<PlanRule>> rules =
      parsePlanRules(fmt::format("{}:{}", collective, algorithm));
  if (!rules.ok()) return std::nullopt;
  const PlanRule plain{.algorithm = rules->front().algorithm};
  return *rules == std::vector{plain} ? std::optional(plain.algorithm) : std::nullopt;
}

Result<TuningEntry> parseLine(std::string_view line) {
  const std::vector<std::string_view> words = wordsOf(line);
  if (words.size() != 6) {
    return Status::invalidArgument(
        "{} words where there should be collective, ranks, bytes, algorithm, chunk bytes and "
        "microseconds",
        words.size());
  }
  TuningEntry entry;
  const std::optional<AlgorithmId> algorithm = findByNames(words[0], words[3]);
  if (!algorithm) {
    return Status::invalidArgument("there is no algorithm {} of {}", words[3], words[0]);
  }
  entry.algorithm = *algorithm;
  const bool numbers = readNumber(words[1], entry.ranks) && readNumber(words[2], entry.bytes) &&
                       readNumber(words[4], entry.chunkBytes) && readNumber(words[5], entry.micros);
  if (!numbers || entry.ranks < 1 || entry.chunkBytes == 0 || !std::isfinite(entry.micros) ||
      entry.micros <= 0) {
    return Status::invalidArgument("\"{}\" has a number that cannot be", line);
  }
  return entry;
}

}  // namespace

TuningTable::TuningTable(std::vector<TuningEntry> entries) : entries_(std::move(entries)) {
  std::ranges::sort(entries_, {}, [](const TuningEntry& entry) {
    return std::tuple_cat(place(entry), std::tuple(entry.micros));
  });
  const auto same = [](const TuningEntry& one, const TuningEntry& other) {
    return place(one) == place(other);
  };
  entries_.erase(std::unique(entries_.begin(), entries_.end(), same), entries_.end());
}

Result<TuningTable> TuningTable::parse(std::string_view text) {
  std::vector<TuningEntry> entries;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view content = line.substr(0, line.find('#'));
    if (wordsOf(content).empty()) continue;
    const Result<TuningEntry> entry = parseLine(content);
    RONDO_RETURN_IF_ERROR(entry.status().withContext(fmt::format("line {}", number)));
    entries.push_back(*entry);
  }
  return TuningTable(std::move(entries));
}

Result<TuningTable> TuningTable::load(const std::string& path) {
  const std::ifstream file(path, std::ios::binary);
  if (!file) return Status::invalidArgument("{} cannot be read", path);
  std::ostringstream text;
  text << file.rdbuf();
  Result<TuningTable> table = parse(text.view());
  RONDO_RETURN_IF_ERROR(table.status().withContext(path));
  return table;
}

std::string TuningTable::text() const {
  std::string text = "# collective ranks bytes algorithm chunk_bytes microseconds\n";
  for (const TuningEntry& entry : entries_) {
    text += fmt::format("{} {} {} {} {} {:.3f}\n", collectiveName(collectiveOf(entry)), entry.ranks,
                        entry.bytes, algorithmInfo(entry.algorithm).name, entry.chunkBytes,
                        entry.micros);
  }
  return text;
}

std::uint64_t TuningTable::hash() const {
  // FNV-1a: Fowler, Noll, Vo, "The FNV Non-Cryptographic Hash Algorithm", section 2 (64 bits).
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : text()) {
    hash ^= static_cast<unsigned char>(letter);
    hash *= 0x100000001b3;
  }
  return hash;
}

std::span<const TuningEntry> TuningTable::nearest(Collective collective,
                                                  int ranks,
                                                  std::size_t bytes) const {
  const auto wanted = std::tuple(collective, ranks);
  const auto begin = std::ranges::lower_bound(entries_, wanted, {}, section);
  const auto end = std::ranges::upper_bound(entries_, wanted, {}, section);
  if (begin == end) return {};
  const std::span<const TuningEntry> part(begin, end);
  auto above = std::ranges::lower_bound(part, bytes, {}, &TuningEntry::bytes);
  if (above == part.end()) {
    --above;
  } else if (above != part.begin()) {
    const auto below = static_cast<double>(std::prev(above)->bytes);
    const auto size = static_cast<double>(bytes);
    if (size * size < below * static_cast<double>(above->bytes)) --above;
  }
  const std::size_t nearest = above->bytes;
  return {std::ranges::lower_bound(part, nearest, {}, &TuningEntry::bytes),
          std::ranges::upper_bound(part, nearest, {}, &TuningEntry::bytes)};
}

}  // namespace rondo
