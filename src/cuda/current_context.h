// The context that calls of the driver are made in, for calls that belong to no communicator.
#pragma once

#include <functional>

#include "src/cuda/driver.h"
#include "src/status.h"

namespace rondo::cuda {

/// Runs `body` with a context of `device` current: the thread's own if it is of that device, else
/// the device's primary one, which then stays open, as what is made in it lives on.
/// @errors SystemError, those of `body`
Status withContextOf(const Driver& driver, int device, const std::function<Status()>& body);

}  // namespace rondo::cuda
