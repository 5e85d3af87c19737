// What one rank keeps from step to step that belongs to no tensor, as bytes in a checkpoint: the
// order in which its buckets were filled, and what compression has rounded away.
//
//   words of 64 bits:  magic | fingerprint | rebuilt | tensors in `order` | order ... | feedbacks
//   then for each feedback: its bytes as a word, and the bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rondo/rondo.hpp"

namespace rondo::train {

struct RankState {
  std::uint64_t fingerprint = 0;  ///< of all that must be the same for it to mean something
  bool rebuilt = false;           ///< `order` is that of arrival
  std::vector<std::size_t> order{};
  std::vector<std::vector<std::byte>> feedbacks{};

  std::vector<std::byte> bytes() const;

  /// @return nothing if they are not what bytes() gave
  static std::optional<RankState> parse(std::span<const std::byte> bytes);
};

/// Names what ranks have agreed on, and this rank's part in it.
std::uint64_t fingerprintOf(const std::vector<std::string>& lines, const Communicator& comm);

/// Whether all ranks have a state, and all of these one order. Collective.
bool allHaveTheSame(const Communicator& comm, const std::optional<RankState>& state);

}  // namespace rondo::train
