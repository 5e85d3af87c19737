// Measures every algorithm with chunks of several sizes and writes what it found as a table that
// the planner believes (src/tuning_table.h).
#pragma once

#include "src/cli/perf/process_rank.h"
#include "src/cli/tune/options.h"
#include "src/status.h"

namespace rondo::tune {

/// Measures, prints what is fastest where beside what the planner chooses by itself, and writes the
/// table. Collective where ranks are processes: rank 0 prints and writes.
/// @param self null: ranks are threads
/// @errors those of communicators and calls; Internal where a result was wrong; SystemError where
///         the table cannot be written
Status runTune(const TuneOptions& options, const perf::ProcessRank* self);

}  // namespace rondo::tune
