// Whether all ranks registered the same things in the same order: a hash first, and what differs
// only when it does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/rondo.hpp"

namespace rondo::train {

/// FNV-1a of `text`, continued from `start`; Fowler, Noll and Vo.
constexpr std::uint64_t hashText(std::string_view text, std::uint64_t start = 0xcbf29ce484222325U) {
  std::uint64_t hash = start;
  for (const char letter : text)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  return hash;
}

/// Throws on all ranks the failure of the lowest rank that has one. Collective.
/// @param own what failed on this rank
void throwIfAnyFailed(const Communicator& comm, const std::optional<Error>& own);

/// Runs `body`, which calls nothing collective, and throws on all ranks what it threw on one.
/// Collective.
template <class Body>
void onAllRanks(const Communicator& comm, const Body& body) {
  std::optional<Error> failure;
  try {
    body();
  } catch (const Error& error) {
    failure = error;
  }
  throwIfAnyFailed(comm, failure);
}

/// Throws Mismatch on all ranks alike if a rank's lines are not rank 0's, naming the first that
/// differs. Collective.
/// @param what  begins the message, e.g. "gradients"
/// @param lines one for each thing, in order; the same on all ranks if all is well
void requireAgreement(const Communicator& comm,
                      const std::string& what,
                      const std::vector<std::string>& lines);

}  // namespace rondo::train
