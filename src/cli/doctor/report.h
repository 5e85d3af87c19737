// What `rondo doctor` prints. docs/troubleshooting.md describes the JSON document.
#pragma once

#include <span>
#include <string>

#include "src/cli/doctor/finding.h"
#include "src/cli/doctor/pairs.h"

namespace rondo::doctor {

/// For people: a line for each finding, with its cure below it, then the matrices of pairs.
std::string reportText(std::span<const Section> sections, const PairFacts& pairs);

/// For programs: one JSON document, ending with a line break.
std::string reportJson(std::span<const Section> sections, const PairFacts& pairs);

/// How many findings are of that severity.
int countFindings(std::span<const Section> sections, Severity severity);

}  // namespace rondo::doctor
