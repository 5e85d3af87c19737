#include "kernels/host/streamed_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace rondo::host {

#if defined(__x86_64__)

namespace {

/// What a write-combining buffer holds: lines that are stored whole leave it in one transfer.
constexpr std::size_t kLineBytes = 64;

void streamLine(std::byte* target, const std::byte* source) {
  constexpr std::size_t kWordBytes = sizeof(__m128i);
  for (std::size_t at = 0; at < kLineBytes; at += kWordBytes) {
    const __m128i word = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + at));
    _mm_stream_si128(reinterpret_cast<__m128i*>(target + at), word);
  }
}

}  // namespace

void streamedCopy(void* target, const void* source, std::size_t bytes) noexcept {
  auto* to = static_cast<std::byte*>(target);
  const auto* from = static_cast<const std::byte*>(source);
  const std::size_t past = reinterpret_cast<std::uintptr_t>(to) % kLineBytes;
  const std::size_t head = std::min(bytes, past == 0 ? 0 : kLineBytes - past);
  std::memcpy(to, from, head);
  std::size_t at = head;
  for (; bytes - at >= kLineBytes; at += kLineBytes)
    streamLine(to + at, from + at);
  std::memcpy(to + at, from + at, bytes - at);
}

#else

void streamedCopy(void* target, const void* source, std::size_t bytes) noexcept {
  std::memcpy(target, source, bytes);
}

#endif

}  // namespace rondo::host
