// A wish about how calls are carried out: which algorithm, for which sizes, in which pieces. The
// grammar of RONDO_ALGORITHM, and of whatever else chooses algorithms by name.
//
//     all_reduce:two_shot                 that algorithm, whatever the size
//     all_reduce:two_shot/16K             in chunks of at most 16 KiB
//     all_reduce:one_shot@0-32K           for calls of up to 32 KiB only
//     all_reduce:two_shot/64K@32K-1M      both; the last size belongs to it
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/registry.h"
#include "src/status.h"

namespace rondo {

/// @order where several rules fit a call, the first one counts
struct PlanRule {
  AlgorithmId algorithm{};     ///< its collective is the one that the rule is about
  std::size_t chunkBytes = 0;  ///< most bytes in a slot; 0: the planner's choice
  std::size_t firstBytes = 0;  ///< of the calls it is for, as callBytes() (src/planner.h) counts
  std::size_t lastBytes = std::numeric_limits<std::size_t>::max();

  friend bool operator==(const PlanRule&, const PlanRule&) = default;
};

/// The least chunk that a rule may ask for: a cache line.
inline constexpr std::size_t kLeastChunkBytes = 64;

/// Reads rules separated by commas.
/// @errors InvalidArgument: what is wrong with which of them, and what there is to choose from
Result<std::vector<PlanRule>> parsePlanRules(std::string_view text);

/// As parsePlanRules() reads it, sizes in bytes.
std::string planRuleText(const PlanRule& rule);

/// The first rule for a call of `bytes` bytes of `collective`; null: none.
const PlanRule* findPlanRule(std::span<const PlanRule> rules,
                             Collective collective,
                             std::size_t bytes);

}  // namespace rondo
