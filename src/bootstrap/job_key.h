// The secret that the ranks of a job share when no unique id carries one: from RONDO_SECRET or
// RONDO_SECRET_FILE, or else, as no more than a check of identity, from what the launcher told all
// of them.
#pragma once

#include <string>
#include <string_view>

#include "src/bootstrap/secret_key.h"
#include "src/config.h"
#include "src/status.h"

namespace rondo {

struct JobKey {
  SecretKey key;
  /// False: others can work it out, too, so that it only tells jobs apart.
  bool secret = true;
};

/// @param job Launch::job; goes into the key, so that jobs with one secret do not mix.
/// @threads  any.
/// @errors   InvalidArgument (both settings, a file that others may read, a secret too short; never
///   with a part of it), SystemError (the file), NotSupported (no libsodium).
Result<JobKey> makeJobKey(const MeetingSettings& settings, std::string_view job);

}  // namespace rondo
