#include "src/bootstrap/message_authentication.h"

#include <dlfcn.h>

namespace rondo {

namespace {

/// Why dlopen() or dlsym() failed.
const char* loadError() {
  return ::dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps the text per thread
}

Status cannotLoad(const char* library, const char* cause) {
  return Status::notSupported(
      "ranks in several processes prove who they are with libsodium, and {} cannot be loaded ({}); "
      "install libsodium (package libsodium23 on Debian and Ubuntu, libsodium elsewhere) on this "
      "host",
      library, cause);
}

const unsigned char* asChars(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

Result<MessageAuthenticator> MessageAuthenticator::load(const char* library) {
  void* const handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return cannotLoad(library, loadError());
  const auto initialise = reinterpret_cast<int (*)()>(::dlsym(handle, "sodium_init"));
  const auto hash = reinterpret_cast<HashFunction*>(::dlsym(handle, "crypto_generichash"));
  const auto compare = reinterpret_cast<CompareFunction*>(::dlsym(handle, "sodium_memcmp"));
  if (initialise == nullptr || hash == nullptr || compare == nullptr) {
    return cannotLoad(library, loadError());
  }
  // 1: the program, or another copy of this library, has done it already.
  if (initialise() < 0) return cannotLoad(library, "sodium_init() failed");
  return MessageAuthenticator(hash, compare);
}

Result<MessageAuthenticator> MessageAuthenticator::shared() {
  static const Result<MessageAuthenticator> kLoaded = load();
  return kLoaded;
}

Mac MessageAuthenticator::authenticate(const SecretKey& key,
                                       std::span<const std::byte> message) const {
  Mac mac{};
  const int failed =
      hash_(reinterpret_cast<unsigned char*>(mac.data()), mac.size(), asChars(message),
            message.size(), asChars(key.bytes()), key.bytes().size());
  RONDO_CHECK(failed == 0);  // it fails for sizes it does not take only
  return mac;
}

bool MessageAuthenticator::equal(const Mac& one, const Mac& other) const {
  return compare_(one.data(), other.data(), one.size()) == 0;
}

}  // namespace rondo
