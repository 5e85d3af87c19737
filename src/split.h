// Who goes where when a communicator is split, and how those that go together tell each other what
// they need: by the communicator they come from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/bootstrap/exchange.h"
#include "src/status.h"

namespace rondo {

/// What a rank says when it splits. No padding: it travels as bytes.
struct SplitWish {
  std::int32_t color = 0;
  std::int32_t key = 0;
};

/// The colour of a rank that goes nowhere; RONDO_NO_COLOR.
inline constexpr std::int32_t kNoColor = -1;

/// A part of the communicator that is split.
struct SplitPart {
  std::vector<int> members;  ///< ranks in the old communicator, in the order of the new one
  int rank = 0;              ///< the own one, in the new communicator
};

/// The part of `rank`: the ranks of its colour, ordered by key and, where keys are equal, by rank.
/// Nothing for a rank without colour. Pure.
/// @param wishes by rank
/// @errors InvalidArgument, on all ranks alike: a colour is negative and not kNoColor.
Result<std::optional<SplitPart>> planSplit(std::span<const SplitWish> wishes, int rank);

/// An exchange among the ranks of a part, carried by the communicator that is split. All of its
/// ranks take part in every round, so all must make the same number of rounds: those left over when
/// a part is done, or has failed, are made by the destructor.
class SplitExchange final : public Exchange {
 public:
  /// Rounds that every rank makes: two to join, three for trials, two for devices.
  static constexpr int kRounds = 7;

  /// @param members of the own part; empty for a rank that goes nowhere
  SplitExchange(GatherBytes gather, int ranks, std::vector<int> members);
  SplitExchange(const SplitExchange&) = delete;
  SplitExchange& operator=(const SplitExchange&) = delete;
  SplitExchange(SplitExchange&&) = delete;
  SplitExchange& operator=(SplitExchange&&) = delete;
  ~SplitExchange() override;

  /// @errors those of the gathering; PeerLost: a rank of the part has given up.
  Result<std::vector<std::string>> allGather(std::string payload) override;

 private:
  Result<std::vector<std::string>> round(const std::string& message);

  const GatherBytes gather_;
  const std::size_t ranks_;
  const std::vector<int> members_;
  int roundsLeft_ = kRounds;
  bool failed_ = false;
};

}  // namespace rondo
