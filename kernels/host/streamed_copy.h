// Copies past the caches: for slots that another processor reads next.
#pragma once

#include <cstddef>

namespace rondo::host {

/// Copies `bytes` bytes with non-temporal stores where the processor has them, else as memcpy does.
/// A receiver may read them after a counter that was posted after fenceStreamedStores() only
/// (kernels/memory_order.h). The ranges must not overlap; any alignment.
void streamedCopy(void* target, const void* source, std::size_t bytes) noexcept;

/// Whether streamedCopy() differs from memcpy on this processor.
constexpr bool hasStreamedStores() {
#if defined(__x86_64__)
  return true;
#else
  return false;
#endif
}

}  // namespace rondo::host
