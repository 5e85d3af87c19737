// Random groups of point-to-point messages: few or many, among some of the ranks or all, several
// between the same two ranks, empty ones too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace rondo::testing {

/// One message of a group.
struct SparseMessage {
  int from = 0;
  int to = 0;  ///< may be `from`
  std::size_t elems = 0;
};

class SparseGroups {
 public:
  explicit SparseGroups(std::uint64_t seed) : random_(seed) {}

  std::size_t upTo(std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(0, most)(random_);
  }

  /// In the order of issue, which all ranks share.
  /// @param mostElems of one message; a third of the groups has much shorter ones
  std::vector<SparseMessage> next(int ranks, std::size_t mostElems) {
    const auto n = static_cast<std::size_t>(ranks);
    const std::size_t messages = upTo(upTo(1) == 0 ? n : 2 * n * n);
    const std::size_t most = upTo(2) == 0 ? mostElems / 16 : mostElems;
    std::vector<SparseMessage> group;
    for (std::size_t i = 0; i < messages; ++i) {
      group.push_back({static_cast<int>(upTo(n - 1)), static_cast<int>(upTo(n - 1)),
                       upTo(7) == 0 ? 0 : upTo(most)});
    }
    return group;
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace rondo::testing
