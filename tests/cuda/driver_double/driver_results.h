// Results of the driver that the library does not tell apart, and so has no names for
// (cuda.h of the toolkit, version 13.0).
#pragma once

namespace rondo::testing {

inline constexpr int kInvalidValue = 1;
inline constexpr int kNotInitialized = 3;
inline constexpr int kInvalidContext = 201;
inline constexpr int kPeerAccessUnsupported = 217;
inline constexpr int kInvalidHandle = 400;
inline constexpr int kNotFound = 500;
inline constexpr int kHostMemoryNotRegistered = 713;

}  // namespace rondo::testing
