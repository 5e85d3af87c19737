// A copy that does not read what it overwrites and leaves nothing of it in the caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace rondo::race {

/// As memcpy, by non-temporal stores where the processor has them and `to` is aligned to 16 bytes.
/// The stores are ordered before whatever this thread stores next.
inline void streamCopy(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::size_t done = 0;
#if defined(__x86_64__)
  if (reinterpret_cast<std::uintptr_t>(to) % sizeof(__m128i) == 0) {
    constexpr std::size_t kLineBytes = 64;
    for (; done + kLineBytes <= bytes; done += kLineBytes) {
      const auto* source = reinterpret_cast<const __m128i*>(from + done);
      auto* target = reinterpret_cast<__m128i*>(to + done);
      for (int i = 0; i < 4; ++i) {
        _mm_stream_si128(target + i, _mm_loadu_si128(source + i));
      }
    }
    _mm_sfence();
  }
#endif
  std::memcpy(to + done, from + done, bytes - done);
}

}  // namespace rondo::race
