// The variables of the environment: which are settings, and whether they are taken.
#pragma once

#include "src/cli/doctor/finding.h"
#include "src/config.h"

namespace rondo::doctor {

struct SettingFacts {
  Environment environment;  ///< all variables, as launchers have theirs, too
  Status authentication;    ///< of what ranks need to prove who they are: libsodium, the secret
};

SettingFacts readSettings();

/// What communicators would have if the variables that are not accepted were not set, so that the
/// others can be judged. Pure.
Config acceptedSettings(const Environment& environment);

/// Pure.
Findings examine(const SettingFacts& facts);

}  // namespace rondo::doctor
