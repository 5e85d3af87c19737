#include "src/cuda/driver.h"

#include <dlfcn.h>

#include "src/loaded_function.h"

namespace rondo::cuda {

namespace {

Status missingFunction(const char* symbol) {
  return Status::notSupported(
      "the CUDA driver (libcuda.so.1) has no {}: it is older than CUDA 12; install a newer driver",
      symbol);
}

/// Fills the table from `library`.
Status fill(Driver& driver, void* library) {
#define RONDO_FIND(member, symbol, parameters) \
  if (!findFunction(library, symbol, driver.member)) return missingFunction(symbol);
  RONDO_CUDA_FUNCTIONS(RONDO_FIND)
#undef RONDO_FIND
  return {};
}

Result<Driver> load() {
  // Never closed: the driver keeps threads of its own.
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Status::notSupported(
        "there is no CUDA driver (libcuda.so.1) on this machine; install NVIDIA's driver, or use "
        "a host communicator");
  }
  Driver driver;
  RONDO_RETURN_IF_ERROR(fill(driver, library));
  const int result = driver.init(0);
  if (result == kNoDevice) {
    return Status::notSupported("the CUDA driver is there, but it sees no GPU");
  }
  if (result != kSuccess) {
    return Status::notSupported("the CUDA driver does not start: {}",
                                driver.check(result, "initialising it").message());
  }
  return driver;
}

}  // namespace

Status Driver::check(int result, std::string_view what) const {
  if (result == kSuccess) return {};
  const char* name = nullptr;
  const char* text = nullptr;
  if (errorName(result, &name) != kSuccess || name == nullptr) name = "an unknown error";
  if (errorString(result, &text) != kSuccess || text == nullptr) text = "no text";
  if (result == kOutOfMemory) return Status::outOfMemory("{}: {} ({})", what, name, text);
  return Status::systemError("{}: {} ({}, {})", what, name, result, text);
}

Result<const Driver*> systemDriver() {
  static const Result<Driver> loaded = load();
  if (!loaded.ok()) return loaded.status();
  return &*loaded;
}

}  // namespace rondo::cuda
