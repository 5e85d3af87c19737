#include "src/plan_rule.h"

#include <algorithm>
#include <optional>

#include "src/size_text.h"

namespace rondo {

namespace {

std::optional<Collective> findCollective(std::string_view name) {
  for (int value = 0; value < kCollectiveCount; ++value) {
    if (collectiveName(static_cast<Collective>(value)) == name) {
      return static_cast<Collective>(value);
    }
  }
  return std::nullopt;
}

/// "all_reduce has one_shot, two_shot, ..."
std::string algorithmsOf(Collective collective) {
  std::string text = fmt::format("{} has", collectiveName(collective));
  std::string_view separator = " ";
  for (std::size_t row = 0; row < kAllAlgorithmCount; ++row) {
    const AlgorithmInfo& info = algorithmInfo(algorithmAt(row));
    if (info.collective != collective) continue;
    text += fmt::format("{}{}", separator, info.name);
    separator = ", ";
  }
  return text;
}

/// "all_reduce, broadcast, ..."
std::string collectiveNames() {
  std::string text(collectiveName(Collective{}));
  for (int value = 1; value < kCollectiveCount; ++value) {
    text += fmt::format(", {}", collectiveName(static_cast<Collective>(value)));
  }
  return text;
}

/// What comes before the first `separator` is taken off `text`, and the separator, too.
std::string_view takeUntil(std::string_view& text, char separator) {
  const std::size_t at = std::min(text.find(separator), text.size());
  const std::string_view head = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return head;
}

/// Reads "32K-1M".
Status readSizes(std::string_view text, PlanRule& rule) {
  const std::string_view first = takeUntil(text, '-');
  const Result<std::size_t> from = parseSize(first);
  RONDO_RETURN_IF_ERROR(from.status());
  const Result<std::size_t> to = parseSize(text);
  RONDO_RETURN_IF_ERROR(to.status());
  rule.firstBytes = *from;
  rule.lastBytes = *to;
  if (*from > *to) {
    return Status::invalidArgument("sizes {}-{} are in the wrong order", first, text);
  }
  return {};
}

Status readChunk(std::string_view text, PlanRule& rule) {
  const Result<std::size_t> chunk = parseSize(text);
  RONDO_RETURN_IF_ERROR(chunk.status());
  if (*chunk < kLeastChunkBytes || *chunk % kLeastChunkBytes != 0) {
    return Status::invalidArgument("a chunk of {} bytes is no multiple of {}", *chunk,
                                   kLeastChunkBytes);
  }
  rule.chunkBytes = *chunk;
  return {};
}

Result<PlanRule> parseRule(std::string_view text) {
  std::string_view rest = text;
  std::string_view choice = takeUntil(rest, '@');
  const bool hasSizes = choice.size() < text.size();
  const std::string_view left = takeUntil(choice, ':');
  const std::optional<Collective> collective = findCollective(left);
  if (!collective) {
    return Status::invalidArgument("\"{}\" is none of the collectives {}", left, collectiveNames());
  }
  const std::size_t choiceBytes = choice.size();
  const std::string_view name = takeUntil(choice, '/');
  const std::optional<AlgorithmId> algorithm = findAlgorithm(*collective, name);
  if (!algorithm) {
    return Status::invalidArgument("\"{}\" is no algorithm: {}", name, algorithmsOf(*collective));
  }
  PlanRule rule;
  rule.algorithm = *algorithm;
  if (name.size() < choiceBytes) RONDO_RETURN_IF_ERROR(readChunk(choice, rule));
  if (hasSizes) RONDO_RETURN_IF_ERROR(readSizes(rest, rule));
  return rule;
}

Collective collectiveOf(const PlanRule& rule) {
  return algorithmInfo(rule.algorithm).collective;
}

/// Whether `rule` never counts because of one before it.
bool isHidden(const PlanRule& rule, std::span<const PlanRule> before) {
  return std::ranges::any_of(before, [&](const PlanRule& other) {
    return collectiveOf(other) == collectiveOf(rule) && other.firstBytes <= rule.firstBytes &&
           other.lastBytes >= rule.lastBytes;
  });
}

}  // namespace

Result<std::vector<PlanRule>> parsePlanRules(std::string_view text) {
  std::vector<PlanRule> rules;
  for (bool more = true; more;) {
    more = text.find(',') != std::string_view::npos;
    const Result<PlanRule> rule = parseRule(takeUntil(text, ','));
    RONDO_RETURN_IF_ERROR(rule.status());
    if (isHidden(*rule, rules)) {
      return Status::invalidArgument("{} appears twice", collectiveName(collectiveOf(*rule)));
    }
    rules.push_back(*rule);
  }
  return rules;
}

std::string planRuleText(const PlanRule& rule) {
  const AlgorithmInfo& info = algorithmInfo(rule.algorithm);
  std::string text = fmt::format("{}:{}", collectiveName(info.collective), info.name);
  if (rule.chunkBytes > 0) text += fmt::format("/{}", rule.chunkBytes);
  const bool anySize = rule.firstBytes == 0 && rule.lastBytes == PlanRule{}.lastBytes;
  if (!anySize) text += fmt::format("@{}-{}", rule.firstBytes, rule.lastBytes);
  return text;
}

const PlanRule* findPlanRule(std::span<const PlanRule> rules,
                             Collective collective,
                             std::size_t bytes) {
  const auto fits = [&](const PlanRule& rule) {
    return collectiveOf(rule) == collective && rule.firstBytes <= bytes && bytes <= rule.lastBytes;
  };
  const auto found = std::ranges::find_if(rules, fits);
  return found == rules.end() ? nullptr : &*found;
}

}  // namespace rondo
