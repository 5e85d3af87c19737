// The floating-point mode that the numerical contract assumes, whatever the caller's thread has
// set.
#pragma once

#include <cstdint>

namespace rondo::host {

/// Sets round-to-nearest-even with denormals kept (FTZ and DAZ off) and exceptions masked for the
/// life of the object; restores the thread's previous mode, sticky flags included, at its end.
/// @threads affects the constructing thread only; destroy on the same thread.
class FloatEnvironment {
 public:
  FloatEnvironment();
  ~FloatEnvironment();
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  std::uint64_t saved_;
};

}  // namespace rondo::host
