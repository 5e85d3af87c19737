// Which ranks are on which host: what algorithms of two levels are laid out by. The same on all
// ranks of a communicator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace rondo {

/// Hosts are numbered in the order of their lowest ranks; a host's ranks, by local index, upwards.
class HostMap {
 public:
  /// @param hosts by rank: any numbers, equal for ranks of one host
  explicit HostMap(std::span<const int> hosts) {
    std::vector<int> names;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
      const auto found = std::ranges::find(names, hosts[rank]);
      const auto host = static_cast<std::size_t>(found - names.begin());
      if (found == names.end()) {
        names.push_back(hosts[rank]);
        members_.emplace_back();
      }
      hostOf_.push_back(static_cast<int>(host));
      localIndex_.push_back(static_cast<int>(members_[host].size()));
      members_[host].push_back(static_cast<int>(rank));
    }
  }

  int ranks() const { return static_cast<int>(hostOf_.size()); }

  int hosts() const { return static_cast<int>(members_.size()); }

  int hostOf(int rank) const { return hostOf_[static_cast<std::size_t>(rank)]; }

  /// How many lower ranks are on the same host.
  int localIndex(int rank) const { return localIndex_[static_cast<std::size_t>(rank)]; }

  /// The ranks of `host`, upwards.
  std::span<const int> members(int host) const { return members_[static_cast<std::size_t>(host)]; }

  /// Ranks on the host that has fewest.
  int fewest() const { return static_cast<int>(std::ranges::min(sizes())); }

  /// Ranks on the host that has most.
  int most() const { return static_cast<int>(std::ranges::max(sizes())); }

  /// Whether all hosts have as many ranks.
  bool even() const { return fewest() == most(); }

 private:
  std::vector<std::size_t> sizes() const {
    std::vector<std::size_t> sizes;
    for (const std::vector<int>& members : members_)
      sizes.push_back(members.size());
    return sizes;
  }

  std::vector<int> hostOf_;
  std::vector<int> localIndex_;
  std::vector<std::vector<int>> members_;
};

}  // namespace rondo
