// Plans of two levels for people: what the stages are, what they cost and what their steps are.
#pragma once

#include <string>

#include "src/cli/explain/request.h"
#include "src/planner.h"

namespace rondo::cli {

/// A line for each stage, of a plan with isTwoLevel().
std::string stagesPlanText(const Plan& plan, const ExplainRequest& request);

/// What each rank does in each stage, all pieces together.
/// @param most ranks that are printed, 0 for all
std::string stagesCostText(const Plan& plan, const ExplainRequest& request, std::size_t most);

/// The steps of the first run of each stage, of the ranks that are to be shown.
/// @param most steps that are printed, 0 for all
std::string stagesStepsText(const Plan& plan, const ExplainRequest& request, std::size_t most);

}  // namespace rondo::cli
