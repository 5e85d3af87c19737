// What `rondo run` tells its ranks so that they find and trust each other.
#pragma once

#include <string>

#include "src/net/file_descriptor.h"
#include "src/status.h"

namespace rondo::run {

/// A secret that exists in memory only, and the ports of which rank 0 takes one.
struct Meeting {
  FileDescriptor secret;  ///< keeps the secret alive
  std::string
      secretFile;    ///< under which processes of this user find it; valid as long as `secret`
  std::string root;  ///< for RONDO_ROOT
};

/// @errors SystemError
Result<Meeting> makeMeeting();

}  // namespace rondo::run
