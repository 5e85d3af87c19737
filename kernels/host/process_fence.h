// The fence that one thread makes on behalf of all others. Only kernels/memory_order.h uses it.
#pragma once

namespace rondo::host {

/// Lets the fences of other processes reach this one; once per process is enough, and more do no
/// harm. @return false where the kernel has no such thing or forbids it.
bool joinProcessFences();

/// A full fence in every thread, at whatever point it is, of every process that has joined.
void fenceAllProcesses();

}  // namespace rondo::host
