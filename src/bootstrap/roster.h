// Who has come to a round of a rendezvous, who is gone, and what is wrong with it. No I/O, no time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/bootstrap/handshake.h"
#include "src/bootstrap/rendezvous_messages.h"
#include "src/status.h"

namespace rondo {

/// "2, 5 to 7 and 9"; for messages, so after a dozen ranges only how many more there are.
/// @param ranks ascending.
std::string listRanks(const std::vector<int>& ranks);

/// How a rank's connection ended.
enum class Departure : std::uint8_t {
  kFarewell,  ///< it said that it wants no more rounds
  kLost,      ///< it said nothing
};

/// @threads one at a time.
class Roster {
 public:
  /// Enters a rank in the current round.
  /// @param where  its address, for messages.
  /// @errors   Mismatch: the number is taken, or out of range, or the rank was started as one of
  ///   another number of ranks than the first that came, or it is in another round. Names the ranks
  ///   concerned and their addresses.
  Status enter(const PeerIdentity& who, JoinMessage join, const std::string& where);

  /// Notes that a rank is gone for good. One that is lost before it has entered the first round is
  /// not: it may come back on another connection.
  void depart(int rank, const std::string& where, Departure how);

  /// Whether all ranks have come.
  bool complete() const {
    return ranks_ > 0 && entries_.size() == static_cast<std::size_t>(ranks_);
  }

  /// The Entry frames of all ranks. Precondition: complete().
  std::vector<std::byte> table() const;

  /// Nobody has come to the next round yet; who is gone is gone.
  void startNextRound();

  /// 0, 1, ...
  std::uint32_t round() const { return round_; }

  /// Ok, unless a rank waits in this round for one that is gone: PeerLost, naming it.
  Status hopeless() const;

  /// Why the rendezvous fails if nobody waits any longer. Timeout; names the missing ranks.
  Status overdue() const;

 private:
  struct Entry {
    std::string payload;
    std::string where;
  };

  struct Absence {
    std::string where;
    Departure how = Departure::kLost;
  };

  Status checkIdentity(const PeerIdentity& who, const std::string& where);
  std::vector<int> missing() const;

  int ranks_ = 0;   ///< as the first rank said; 0: none has come
  int first_ = -1;  ///< that rank
  std::string firstWhere_;
  std::uint32_t round_ = 0;
  std::map<int, Entry> entries_;  ///< of this round
  std::map<int, Absence> gone_;
};

}  // namespace rondo
