// In place of device_library.cc in a build without a CUDA compiler.
#include "kernels/cuda/device_library.h"

namespace rondo::device {

std::span<const std::byte> deviceLibrary(DataType /*type*/) {
  return {};
}

std::span<const std::byte> messageLibrary() {
  return {};
}

std::span<const std::byte> codedLibrary() {
  return {};
}

}  // namespace rondo::device
