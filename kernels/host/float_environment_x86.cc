// x86-64: everything that the contract needs is in MXCSR.
#include <immintrin.h>

#include "kernels/host/float_environment.h"

namespace rondo::host {

namespace {

/// All exceptions masked, round to nearest, flush-to-zero and denormals-are-zero off.
constexpr std::uint32_t kContractMode = 0x1f80;
/// The sticky exception flags, which are no part of the mode.
constexpr std::uint32_t kStickyFlags = 0x3f;

}  // namespace

FloatEnvironment::FloatEnvironment() : saved_(_mm_getcsr()) {
  const auto saved = static_cast<std::uint32_t>(saved_);
  if ((saved & ~kStickyFlags) != kContractMode) _mm_setcsr(kContractMode | (saved & kStickyFlags));
}

FloatEnvironment::~FloatEnvironment() {
  // Writing MXCSR costs tens of cycles, reading it a few.
  const auto saved = static_cast<std::uint32_t>(saved_);
  if (_mm_getcsr() != saved) _mm_setcsr(saved);
}

}  // namespace rondo::host
