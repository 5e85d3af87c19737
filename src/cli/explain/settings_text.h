// All settings, for `rondo explain --settings`.
#pragma once

#include <string>

#include "src/config.h"
#include "src/status.h"

namespace rondo::cli {

/// For each setting two lines: its variable, the value it has in `environment` and whether that is
/// the default; what it is, what it takes, and the field of rondoConfig_t.
/// @errors InvalidArgument (a value that is not accepted)
Result<std::string> settingsText(const Environment& environment);

}  // namespace rondo::cli
