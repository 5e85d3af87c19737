// Copies back, which can be made to go wrong (controls.h), and what programs on GPUs call of the
// driver but the library does not: copies on the device, the time between events, facts.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "src/cuda/driver.h"
#include "tests/cuda/driver_double/fake_gpu.h"

namespace rondo::testing {
namespace {

constexpr int kInvalidValue = 1;

/// Whether this call, counted by `calls`, is the one that `variable` names.
bool isNamed(const char* variable, int call) {
  const char* const text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  return text != nullptr && std::atoi(text) == call;
}

[[noreturn]] void waitForEver() {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable never;
  for (;;)
    never.wait(lock);
}

void copy(void* to, const void* from, std::size_t bytes, int call) {
  if (isNamed("RONDOTEST_CRASH_COPY", call)) std::abort();
  if (isNamed("RONDOTEST_STUCK_COPY", call)) waitForEver();
  std::memcpy(to, from, bytes);
  if (isNamed("RONDOTEST_SPOIL_COPY", call)) static_cast<std::uint8_t*>(to)[bytes / 2] ^= 1U;
}

}  // namespace
}  // namespace rondo::testing

using namespace rondo::testing;  // NOLINT(google-build-using-namespace)
using namespace rondo::cuda;     // NOLINT(google-build-using-namespace)

extern "C" {

int cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}

int cuDeviceTotalMem_v2(std::size_t* bytes, int /*device*/) {
  *bytes = std::size_t{1} << 30U;
  return kSuccess;
}

int cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t bytes, Stream stream) {
  static std::atomic<int> calls = 0;
  if (stream == nullptr) return kInvalidValue;
  const int call = ++calls;
  reinterpret_cast<FakeStream*>(stream)->queue(
      [=] { copy(to, reinterpret_cast<const void*>(from), bytes, call); });
  return kSuccess;
}

int cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, std::size_t bytes, Stream stream) {
  if (stream == nullptr) return kInvalidValue;
  reinterpret_cast<FakeStream*>(stream)->queue([=] {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  });
  return kSuccess;
}

/// There is no time here: whatever lies between two events took a millisecond.
int cuEventElapsedTime(float* milliseconds, Event /*from*/, Event /*to*/) {
  *milliseconds = 1;
  return kSuccess;
}
}
