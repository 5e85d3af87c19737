// Field test C08: what a process that holds a communicator forks off, as loaders of training data
// do.
#pragma once

#include "rondo/rondo.h"

namespace rondo::testing {

/// Forks six children: four touch 10 MB and end by _exit, one ends by exit, and one uses `comm`,
/// which must be refused at once, and destroys it, which must do nothing. Waits for all of them, at
/// most 10 s.
/// @return how many did not end as they should; why is on stderr
int forkChildren(rondoComm_t comm);

/// 100 all-reduces. @return how many failed or gave a wrong sum
int sumExactly(rondoComm_t comm, int ranks, int rank);

}  // namespace rondo::testing
