#include "kernels/cuda/device_library.h"

#include "kernels/cuda/device_images.h"

// Of device_images.S.
extern "C" {
#define RONDO_DECLARE(image, kernels)                \
  extern const std::byte rondoDeviceImage_##image[]; \
  extern const std::byte rondoDeviceImageEnd_##image[];
RONDO_FOR_EACH_DEVICE_IMAGE(RONDO_DECLARE)
RONDO_DECLARE(messages, none)
RONDO_DECLARE(coded, none)
#undef RONDO_DECLARE
}

namespace rondo::device {

std::span<const std::byte> deviceLibrary(DataType type) {
  switch (type) {
#define RONDO_KERNEL(name, text) case DataType::k##name:
#define RONDO_CASES(image, kernels) \
  kernels(RONDO_KERNEL) return {rondoDeviceImage_##image, rondoDeviceImageEnd_##image};
    RONDO_FOR_EACH_DEVICE_IMAGE(RONDO_CASES)
#undef RONDO_CASES
#undef RONDO_KERNEL
  }
  return {};
}

std::span<const std::byte> messageLibrary() {
  return {rondoDeviceImage_messages, rondoDeviceImageEnd_messages};
}

std::span<const std::byte> codedLibrary() {
  return {rondoDeviceImage_coded, rondoDeviceImageEnd_coded};
}

}  // namespace rondo::device
