// The registry's rows of algorithms of two levels: inside each host, then between hosts.
#pragma once

#include <array>

#include "collectives/schedule.h"

namespace rondo {

inline constexpr std::array<AlgorithmInfo, 3> kTwoLevelInfos = {{
    {.collective = Collective::kAllReduce,
     .name = "two_level",
     .summary = "parts are added up inside each host, then between hosts, then shared inside",
     .order = FoldOrder::kHopRounded,
     .minSlots = 2},
    {.collective = Collective::kReduceScatter,
     .name = "two_level",
     .summary = "blocks are added up inside each host, then between hosts",
     .order = FoldOrder::kHopRounded,
     .minSlots = 2},
    {.collective = Collective::kAllGather,
     .name = "two_level",
     .summary = "blocks go to one rank of each other host, then to all ranks inside",
     .minSlots = 2},
}};

}  // namespace rondo
