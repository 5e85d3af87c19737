#include "src/nccl/placement.h"

#include "src/config.h"

namespace rondo::nccl {

std::optional<int> currentDevice() {
  const Result<const cuda::Driver*> driver = cuda::systemDriver();
  if (!driver.ok()) return std::nullopt;
  int device = 0;
  return (*driver)->contextDevice(&device) == cuda::kSuccess ? device : 0;
}

Result<std::optional<int>> chosenDevice() {
  rondoConfig_t wishes = RONDO_CONFIG_INITIALIZER;
  wishes.device = currentDevice().value_or(-1);
  const Result<Config> config = loadConfig(&wishes, processEnvironment());
  RONDO_RETURN_IF_ERROR(config.status());
  return config->device;
}

}  // namespace rondo::nccl
