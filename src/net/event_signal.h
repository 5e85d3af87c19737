// A descriptor by which one thread wakes another out of poll().
#pragma once

#include <cerrno>

#include <sys/eventfd.h>

#include "src/net/errno_text.h"
#include "src/net/file_descriptor.h"
#include "src/status.h"

namespace rondo {

/// An eventfd: readable once something was written to it. Does not block.
/// @errors SystemError.
inline Result<FileDescriptor> makeEventSignal() {
  FileDescriptor signal(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (signal.valid()) return signal;
  const int error = errno;
  return Status::systemError("cannot make an eventfd: {}", errnoText(error));
}

}  // namespace rondo
