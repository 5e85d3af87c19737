// The steps of one rank's schedule as a table for people.
#pragma once

#include <cstddef>
#include <string>

#include "collectives/any_schedule.h"

namespace rondo::cli {

/// @param rank whose schedule it is
/// @param most steps that are printed, 0 for all
std::string stepTableText(const AnySchedule& schedule, int rank, std::size_t most);

}  // namespace rondo::cli
