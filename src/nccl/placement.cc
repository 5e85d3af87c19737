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

Status withContextOf(const cuda::Driver& driver, int device, const std::function<Status()>& body) {
  int current = 0;
  if (driver.contextDevice(&current) == cuda::kSuccess && current == device) return body();
  int handle = 0;
  RONDO_RETURN_IF_ERROR(driver.check(driver.deviceGet(&handle, device),
                                     fmt::format("finding CUDA device {}", device)));
  cuda::Context context = nullptr;
  RONDO_RETURN_IF_ERROR(driver.check(driver.primaryContextRetain(&context, handle),
                                     fmt::format("opening CUDA device {}", device)));
  RONDO_RETURN_IF_ERROR(
      driver.check(driver.contextPush(context), fmt::format("entering CUDA device {}", device)));
  const Status done = body();
  (void)driver.contextPop(&context);
  return done;
}

}  // namespace rondo::nccl
