// The steps of one rank's schedule as a table for people.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "collectives/any_schedule.h"
#include "collectives/two_level/two_level.h"

namespace rondo::cli {

/// @param rank whose schedule it is
/// @param most steps that are printed, 0 for all
std::string stepTableText(const AnySchedule& schedule, int rank, std::size_t most);

/// The same for one run of a stage, with peers and places as the whole operation has them.
/// @param members ranks among which the stage runs
std::string stepTableText(const StageRun& run,
                          std::span<const int> members,
                          int rank,
                          std::size_t most);

}  // namespace rondo::cli
