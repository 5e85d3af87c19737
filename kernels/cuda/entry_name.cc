#include "kernels/cuda/device_library.h"

namespace rondo::device {

std::string entryName(DataType type) {
  return "rondoRun_" + std::string(dataTypeName(type));
}

}  // namespace rondo::device
