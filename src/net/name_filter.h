// Names that a user allows, or rules out, by a list of patterns.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fnmatch.h>

namespace rondo {

/// "eth*,ib0" allows names, "^docker*,lo" rules them out; `*` stands for any characters. Empty:
/// all.
class NameFilter {
 public:
  explicit NameFilter(std::string_view text) : excludes_(text.starts_with('^')) {
    if (excludes_) text.remove_prefix(1);
    while (!text.empty()) {
      const std::size_t comma = std::min(text.find(','), text.size());
      if (comma > 0) patterns_.emplace_back(text.substr(0, comma));
      text.remove_prefix(std::min(comma + 1, text.size()));
    }
  }

  bool accepts(const std::string& name) const {
    return patterns_.empty() || isListed(name) != excludes_;
  }

  /// For things with two names, one of which is more precise: listing either counts.
  bool accepts(const std::string& name, const std::string& precise) const {
    return patterns_.empty() || (isListed(name) || isListed(precise)) != excludes_;
  }

  /// Whether the user has asked for this name, rather than not ruled it out.
  bool wants(const std::string& name) const { return !excludes_ && isListed(name); }

 private:
  bool isListed(const std::string& name) const {
    return std::ranges::any_of(patterns_, [&](const std::string& pattern) {
      return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
    });
  }

  bool excludes_;
  std::vector<std::string> patterns_;
};

}  // namespace rondo
