// Proofs that a message comes from someone who knows a secret: keyed BLAKE2b of libsodium, which is
// loaded when first needed, so that programs which stay in one process do not need it.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "src/bootstrap/secret_key.h"
#include "src/status.h"

namespace rondo {

/// The proof. Not secret.
using Mac = std::array<std::byte, 32>;

/// libsodium, loaded. A few pointers to functions of it; copies are free.
/// @threads any.
class MessageAuthenticator {
 public:
  /// The library's name on Linux since version 1.0.15 (2017).
  static constexpr const char* kLibrary = "libsodium.so.23";

  /// Loads `library`. It stays loaded until the process ends.
  /// @errors   NotSupported, saying what to install.
  static Result<MessageAuthenticator> load(const char* library = kLibrary);

  /// The one of this process, loaded at the first call.
  /// @errors   those of load(), every time.
  static Result<MessageAuthenticator> shared();

  /// The proof that whoever knows `key` makes of `message`.
  Mac authenticate(const SecretKey& key, std::span<const std::byte> message) const;

  /// Compares in a time that does not depend on where they differ.
  bool equal(const Mac& one, const Mac& other) const;

 private:
  using HashFunction = int(unsigned char* out,
                           std::size_t outBytes,
                           const unsigned char* in,
                           unsigned long long inBytes,
                           const unsigned char* key,
                           std::size_t keyBytes);
  using CompareFunction = int(const void* one, const void* other, std::size_t bytes);

  MessageAuthenticator(HashFunction* hash, CompareFunction* compare)
      : hash_(hash), compare_(compare) {}

  HashFunction* hash_;
  CompareFunction* compare_;
};

}  // namespace rondo
