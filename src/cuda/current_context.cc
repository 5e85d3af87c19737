#include "src/cuda/current_context.h"

namespace rondo::cuda {

Status withContextOf(const Driver& driver, int device, const std::function<Status()>& body) {
  int current = 0;
  if (driver.contextDevice(&current) == kSuccess && current == device) return body();
  int handle = 0;
  RONDO_RETURN_IF_ERROR(driver.check(driver.deviceGet(&handle, device),
                                     fmt::format("finding CUDA device {}", device)));
  Context context = nullptr;
  RONDO_RETURN_IF_ERROR(driver.check(driver.primaryContextRetain(&context, handle),
                                     fmt::format("opening CUDA device {}", device)));
  RONDO_RETURN_IF_ERROR(
      driver.check(driver.contextPush(context), fmt::format("entering CUDA device {}", device)));
  const Status done = body();
  (void)driver.contextPop(&context);
  return done;
}

}  // namespace rondo::cuda
