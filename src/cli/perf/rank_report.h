// What one rank found out about one case and placement.
#pragma once

#include <cstddef>
#include <string>

namespace rondo::perf {

struct RankReport {
  double secondsPerCall = 0;
  std::size_t wrong = 0;
  std::string problem;  ///< of the check; empty: none
};

}  // namespace rondo::perf
