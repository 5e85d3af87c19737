// The channels that MPI's launchers offer their ranks: enough of them to carry one short text from
// rank 0 to all. They are trusted as the launcher is.
#pragma once

#include <memory>
#include <string>

#include "src/net/deadline.h"
#include "src/status.h"

namespace rondo {

/// @threads one at a time.
class LauncherStore {
 public:
  virtual ~LauncherStore() = default;
  LauncherStore(const LauncherStore&) = delete;
  LauncherStore& operator=(const LauncherStore&) = delete;

  /// Gives rank 0's `text` to all ranks. All call it.
  /// @param key  new for each call, the same on all ranks: letters, digits and '-', at most 32.
  /// @param text at most 1000 letters and digits; only rank 0's counts.
  /// @errors   Timeout, SystemError (what the launcher said), NotSupported.
  virtual Result<std::string> spread(const std::string& key,
                                     const std::string& text,
                                     Deadline deadline) = 0;

 protected:
  LauncherStore() = default;
};

/// PMIx, version 2 or later, through libpmix, which is loaded now. It is initialised and finalised
/// for each text, which PMIx counts, so that an MPI library in this process is not disturbed.
/// @errors   NotSupported (no libpmix; the message says what to install).
Result<std::unique_ptr<LauncherStore>> openPmixStore();

/// PMI-1 on the connection that MPICH's launcher left to this process. It is initialised, which may
/// be done twice, and finalised when the process exits: an MPI library in this process may use it,
/// too.
/// @param descriptor stays open, and the launcher's.
std::unique_ptr<LauncherStore> openPmi1Store(int descriptor, int rank);

}  // namespace rondo
