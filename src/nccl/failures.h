// How functions of NCCL's interface that fail by themselves, not in a call of Rondo's, report it:
// as those of Rondo do, in the log and in the text of ncclGetLastError. No exception leaves them.
#pragma once

#include <exception>
#include <new>
#include <string_view>

#include "rondo/nccl/nccl.h"
#include "src/last_error.h"
#include "src/nccl/values.h"
#include "src/status.h"

namespace rondo::nccl {

/// Success, or logs and remembers a failure of the calling thread in `function`.
ncclResult_t conclude(std::string_view function, const Status& status) noexcept;

/// conclude() for the Status that `body` gives.
template <class Body>
ncclResult_t guarded(std::string_view function, const Body& body) noexcept {
  try {
    return conclude(function, body());
  } catch (const std::bad_alloc&) {
    rememberFailure(0, "out of memory");
    return ncclSystemError;
  } catch (const std::exception& exception) {
    rememberFailure(0, exception.what());
    return ncclInternalError;
  }
}

}  // namespace rondo::nccl
