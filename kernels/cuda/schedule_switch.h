// From an algorithm's number to its schedule, in a kernel: a chain of comparisons, since device
// code has no std::visit.
#pragma once

#include <cstddef>

#include "collectives/registry.h"
#include "kernels/portability.h"

namespace rondo::device {

namespace detail {

template <class Visitor, Schedule... S>
RONDO_DEVICE void visitSchedule(ScheduleList<S...>,
                                AlgorithmId id,
                                const ScheduleArgs& args,
                                Visitor&& visitor) {
  std::size_t row = 0;
  (void)((row++ == static_cast<std::size_t>(id) ? (visitor(S(args)), true) : false) || ...);
}

}  // namespace detail

/// Calls `visitor(schedule)` with the schedule of `id` that `args` make.
template <class Visitor>
RONDO_DEVICE void visitSchedule(AlgorithmId id, const ScheduleArgs& args, Visitor&& visitor) {
  detail::visitSchedule(AllSchedules{}, id, args, visitor);
}

}  // namespace rondo::device
