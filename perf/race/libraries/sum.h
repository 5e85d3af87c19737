// Sums for whoever brings none: the ideal, and libraries that do not know a type. Rondo's own
// loops, so that the race is about moving data and not about adding it.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/host/combine.h"

namespace rondo::race {

/// Adds sources element by element and stores each sum to all targets.
inline void sumInto(DataType type,
                    std::span<const host::Target> targets,
                    std::span<const host::Operand> sources,
                    std::size_t elements) {
  // Asked once: in a virtual machine the processor's answer takes tens of microseconds.
  static const host::SimdTarget kSimdTarget = host::bestSimdTarget();
  host::combineFunction(type, ReduceOp::kSum,
                        kSimdTarget)({.sources = sources, .targets = targets, .elems = elements});
}

}  // namespace rondo::race
