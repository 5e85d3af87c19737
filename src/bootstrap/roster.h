// Who has come to a rendezvous, and what is wrong with it. No I/O, no time.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "src/bootstrap/handshake.h"
#include "src/status.h"

namespace rondo {

/// "2, 5 to 7 and 9"; for messages, so after a dozen ranges only how many more there are.
/// @param ranks ascending.
std::string listRanks(const std::vector<int>& ranks);

/// @threads one at a time.
class Roster {
 public:
  /// Enters a rank.
  /// @param where  its address, for messages.
  /// @errors   Mismatch: the number is taken, or out of range, or the rank was started as one of
  ///   another number of ranks than the first that came. Names the ranks concerned and their
  ///   addresses.
  Status enter(const PeerIdentity& who, std::string payload, const std::string& where);

  /// Whether all ranks have come.
  bool complete() const {
    return ranks_ > 0 && entries_.size() == static_cast<std::size_t>(ranks_);
  }

  /// The Entry frames of all ranks. Precondition: complete().
  std::vector<std::byte> table() const;

  /// Why the rendezvous fails if `rank`, which had come, is gone before all others came. PeerLost.
  Status departure(int rank) const;

  /// Why the rendezvous fails if nobody waits any longer. Timeout; names the missing ranks.
  Status overdue() const;

 private:
  struct Entry {
    std::string payload;
    std::string where;
  };

  std::vector<int> missing() const;

  int ranks_ = 0;   ///< as the first rank said; 0: none has come
  int first_ = -1;  ///< that rank
  std::map<int, Entry> entries_;
};

}  // namespace rondo
