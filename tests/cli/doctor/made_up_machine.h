// Machines that are made up, for the findings of `rondo doctor`.
#pragma once

#include <string>
#include <string_view>

#include "src/cli/doctor/machine_facts.h"

namespace rondo::doctor {

/// A machine with nothing to complain of: two adapters and GPUs, all limits far away.
MachineFacts goodMachine();

/// An address of an interface that is up and has a carrier.
InterfaceAddress interfaceEntry(std::string name, const char* host);

/// The only finding whose text has `part`; a test failure, and an empty one, if there is none or
/// are several.
Finding findingWith(const Findings& findings, std::string_view part);

/// The worst severity of all.
Severity worst(const Findings& findings);

}  // namespace rondo::doctor
