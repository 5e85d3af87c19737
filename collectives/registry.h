// The list of all algorithms. Adding one means: write its file, add it to AllSchedules. Planner,
// command-line help, docs and tests read it from here. Those that are made of several schedules
// (collectives/two_level/) are rows, too, behind the others.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "collectives/all_gather/direct.h"
#include "collectives/all_gather/log_tree.h"
#include "collectives/all_gather/ring.h"
#include "collectives/all_reduce/double_tree.h"
#include "collectives/all_reduce/one_shot.h"
#include "collectives/all_reduce/rank_chain.h"
#include "collectives/all_reduce/ring.h"
#include "collectives/all_reduce/two_shot.h"
#include "collectives/all_to_all/direct.h"
#include "collectives/all_to_all/pairwise.h"
#include "collectives/barrier/dissemination.h"
#include "collectives/broadcast/chain.h"
#include "collectives/broadcast/tree.h"
#include "collectives/gather/direct.h"
#include "collectives/reduce/chain.h"
#include "collectives/reduce/tree.h"
#include "collectives/reduce_scatter/direct.h"
#include "collectives/reduce_scatter/log_tree.h"
#include "collectives/reduce_scatter/ring.h"
#include "collectives/scatter/direct.h"
#include "collectives/schedule.h"
#include "collectives/two_level/rows.h"

namespace rondo {

template <Schedule... S>
struct ScheduleList {
  static constexpr std::size_t kCount = sizeof...(S);
  static constexpr std::array<AlgorithmInfo, kCount> kInfos = {S::kInfo...};
};

using AllSchedules = ScheduleList<AllReduceOneShot,
                                  AllReduceTwoShot,
                                  AllReduceRing,
                                  AllReduceDoubleTree,
                                  AllReduceRankChain,
                                  ReduceScatterDirect,
                                  ReduceScatterRing,
                                  ReduceScatterLogTree,
                                  AllGatherDirect,
                                  AllGatherRing,
                                  AllGatherLogTree,
                                  BroadcastTree,
                                  BroadcastChain,
                                  ReduceTree,
                                  ReduceChain,
                                  BarrierDissemination,
                                  AllToAllDirect,
                                  AllToAllPairwise,
                                  GatherDirect,
                                  ScatterDirect>;

/// An algorithm's row: in AllSchedules, or behind its end in kTwoLevelInfos.
enum class AlgorithmId : std::uint8_t {};

/// Algorithms that are one schedule.
inline constexpr std::size_t kAlgorithmCount = AllSchedules::kCount;

/// Those and the ones made of several.
inline constexpr std::size_t kAllAlgorithmCount = kAlgorithmCount + kTwoLevelInfos.size();

constexpr AlgorithmId algorithmAt(std::size_t row) {
  return static_cast<AlgorithmId>(row);
}

/// Whether it is made of several schedules (collectives/two_level/two_level.h), and none itself.
constexpr bool isTwoLevel(AlgorithmId id) {
  return static_cast<std::size_t>(id) >= kAlgorithmCount;
}

constexpr const AlgorithmInfo& algorithmInfo(AlgorithmId id) {
  const auto row = static_cast<std::size_t>(id);
  return isTwoLevel(id) ? kTwoLevelInfos[row - kAlgorithmCount] : AllSchedules::kInfos[row];
}

/// The algorithm of that name for `collective`, e.g. (kAllReduce, "ring").
constexpr std::optional<AlgorithmId> findAlgorithm(Collective collective, std::string_view name) {
  for (std::size_t row = 0; row < kAllAlgorithmCount; ++row) {
    const AlgorithmInfo& info = algorithmInfo(algorithmAt(row));
    if (info.collective == collective && info.name == name) return algorithmAt(row);
  }
  return std::nullopt;
}

namespace detail {

template <class Visitor, Schedule... S>
constexpr void visitRow(ScheduleList<S...>, std::size_t row, Visitor&& visitor) {
  std::size_t at = 0;
  (void)((at++ == row ? (visitor.template operator()<S>(), true) : false) || ...);
}

}  // namespace detail

/// Calls `visitor.template operator()<S>()` for the schedule class S of `id`, if it is one.
template <class Visitor>
constexpr void visitAlgorithm(AlgorithmId id, Visitor&& visitor) {
  detail::visitRow(AllSchedules{}, static_cast<std::size_t>(id), std::forward<Visitor>(visitor));
}

}  // namespace rondo
