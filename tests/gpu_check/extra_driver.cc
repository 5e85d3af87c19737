#include "tests/gpu_check/extra_driver.h"

#include <dlfcn.h>

#include "src/loaded_function.h"

namespace rondo::gpucheck {

Result<ExtraDriver> loadExtraDriver() {
  // Never closed: the library keeps it open, too.
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Status::notSupported("there is no CUDA driver (libcuda.so.1)");
  ExtraDriver driver;
#define RONDO_FIND(member, symbol, parameters)                        \
  if (!findFunction(library, symbol, driver.member)) {                \
    return Status::notSupported("the CUDA driver has no {}", symbol); \
  }
  RONDO_EXTRA_CUDA_FUNCTIONS(RONDO_FIND)
#undef RONDO_FIND
  return driver;
}

}  // namespace rondo::gpucheck
