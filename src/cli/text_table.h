// Columns of text, as wide as their longest word.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rondo::cli {

/// @threads one at a time
class TextTable {
 public:
  using Line = std::vector<std::string>;

  explicit TextTable(Line header) { lines_.push_back(std::move(header)); }

  void add(Line line) { lines_.push_back(std::move(line)); }

  /// All lines, indented by two spaces. Of more than `most` lines the middle is left out, with a
  /// word on how many were; 0: none are.
  std::string text(std::size_t most = 0) const;

 private:
  std::vector<std::size_t> widths() const;

  std::vector<Line> lines_;  // the header first
};

}  // namespace rondo::cli
