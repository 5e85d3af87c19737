// Keys for tests: each byte gives another.
#pragma once

#include <array>
#include <cstddef>

#include "src/bootstrap/secret_key.h"

namespace rondo {

inline SecretKey keyOf(int byte) {
  std::array<std::byte, SecretKey::kBytes> bytes{};
  bytes.fill(static_cast<std::byte>(byte));
  return SecretKey(bytes);
}

}  // namespace rondo
