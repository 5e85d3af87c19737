#include "src/cli/text_table.h"

#include <algorithm>

#include "src/format.h"

namespace rondo::cli {

namespace {

std::string lineText(const TextTable::Line& line, const std::vector<std::size_t>& widths) {
  std::string text;
  for (std::size_t column = 0; column < line.size(); ++column) {
    text += fmt::format("  {:<{}}", line[column], widths[column]);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

}  // namespace

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths(lines_.front().size());
  for (const Line& line : lines_) {
    for (std::size_t column = 0; column < line.size(); ++column) {
      widths[column] = std::max(widths[column], line[column].size());
    }
  }
  return widths;
}

std::string TextTable::text(std::size_t most) const {
  const std::vector<std::size_t> columnWidths = widths();
  const std::size_t rows = lines_.size() - 1;
  const std::size_t left = most == 0 || rows <= most ? 0 : rows - most;
  const std::size_t headRows = most - most / 3;
  std::string text;
  for (std::size_t line = 0; line <= rows; ++line) {
    if (left > 0 && line == headRows + 1) {
      text += fmt::format("  ... {} more (--all shows them)\n", left);
      line += left;
    }
    text += lineText(lines_[line], columnWidths);
  }
  return text;
}

}  // namespace rondo::cli
