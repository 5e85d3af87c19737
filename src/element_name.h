// What programs call the elements of a call, whose type the library may have taken apart.
#pragma once

#include <string_view>

#include "kernels/data_type.h"

namespace rondo {

/// @param pairs elements are complex numbers, of two `type` each
constexpr std::string_view elementName(DataType type, bool pairs) {
  if (!pairs) return dataTypeName(type);
  return type == DataType::kFloat32 ? "complex64" : "complex128";
}

}  // namespace rondo
