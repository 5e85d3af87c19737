// How benchmarks take time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace rondo {

/// Seconds of one call of `body`, of `calls` in a row: so many that they are long against the clock
/// and short against a scheduler's slice, if that can be.
template <class Body>
double secondsPerCall(int calls, const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i)
    body();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count() / calls;
}

/// @param values one or more; their order changes
inline double medianOf(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The median of `rounds` calls that all ranks begin together, in seconds.
/// @param comm has a barrier
template <class Comm, class Body>
double medianTogether(const Comm& comm, int rounds, const Body& body) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    comm.barrier();
    times.push_back(secondsPerCall(1, body));
  }
  return medianOf(times);
}

}  // namespace rondo
