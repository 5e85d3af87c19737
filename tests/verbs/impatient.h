// A transport over the double's adapters that gives up soon: for tests of what fails.
#pragma once

#include <memory>

#include "tests/transport/transport_team.h"
#include "tests/transport/verbs_rank.h"

namespace rondo::testing {

/// Adapters give up after half a second.
inline verbs::Settings impatient() {
  verbs::Settings settings;
  settings.timeout = 14;  // 67 ms
  settings.retries = 7;
  return settings;
}

inline TransportKind impatientKind() {
  return {"impatient",
          [](const RankPlace& place) { return std::make_unique<VerbsRank>(place, impatient()); }};
}

}  // namespace rondo::testing
