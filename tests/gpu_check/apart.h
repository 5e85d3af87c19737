// Runs a section in a process of its own, so that a crash, a hang or a GPU's error, after which a
// process can use it no more, ends that section and not those after it.
#pragma once

#include <chrono>
#include <string_view>

#include "tests/gpu_check/options.h"
#include "tests/gpu_check/report.h"

namespace rondo::gpucheck {

/// How long after its deadline a section may end by itself: a call's waits, and tidying up.
std::chrono::seconds graceOf(const Extent& extent);

/// Starts this program for one section, which has begun in `report`, and takes over what it
/// reports, while it runs and at its end.
/// @param deadline of the section
/// @param last when the process is killed, whatever it does
void runApart(Report& report,
              std::string_view section,
              const Options& options,
              Deadline deadline,
              Deadline last);

}  // namespace rondo::gpucheck
