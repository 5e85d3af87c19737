// The secret that the ranks of one job share. It is never logged, never part of an error, and wiped
// from memory when it goes.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <string.h>

namespace rondo {

/// 32 secret bytes. There is no way to print one, on purpose.
class SecretKey {
 public:
  static constexpr std::size_t kBytes = 32;

  explicit SecretKey(std::span<const std::byte, kBytes> bytes) {
    ::memcpy(bytes_.data(), bytes.data(), kBytes);
  }

  SecretKey(const SecretKey&) = default;
  SecretKey& operator=(const SecretKey&) = default;
  SecretKey(SecretKey&&) = default;
  SecretKey& operator=(SecretKey&&) = default;

  /// explicit_bzero() is not optimised away.
  ~SecretKey() { ::explicit_bzero(bytes_.data(), kBytes); }

  /// For computing with it only. Valid as long as this object.
  std::span<const std::byte, kBytes> bytes() const { return bytes_; }

 private:
  std::array<std::byte, kBytes> bytes_;
};

}  // namespace rondo
