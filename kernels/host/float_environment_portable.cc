// Other processors: the C library's default environment, which is the contract's mode (on AArch64
// it also turns flush-to-zero off).
#include <cfenv>
#include <cstring>

#include "kernels/host/float_environment.h"

namespace rondo::host {

static_assert(sizeof(std::fenv_t) <= sizeof(std::uint64_t),
              "this processor needs a float_environment file of its own");

FloatEnvironment::FloatEnvironment() : saved_(0) {
  std::fenv_t environment;
  std::fegetenv(&environment);
  std::memcpy(&saved_, &environment, sizeof(environment));
  std::fesetenv(FE_DFL_ENV);
}

FloatEnvironment::~FloatEnvironment() {
  std::fenv_t environment;
  std::memcpy(&environment, &saved_, sizeof(environment));
  std::fesetenv(&environment);
}

}  // namespace rondo::host
