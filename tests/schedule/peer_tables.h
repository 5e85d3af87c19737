// Whether the peer tables of all ranks fit together.
#pragma once

#include <cstddef>
#include <optional>

#include "tests/schedule/verifier.h"

namespace rondo::verifier {

/// Rank a sends to b exactly if b receives from a; every entry is another rank, listed once.
std::optional<Violation> checkPeerTables(const Setup& setup,
                                         const Call& call,
                                         std::size_t callIndex);

}  // namespace rondo::verifier
