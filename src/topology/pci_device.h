// What the numbers of a PCI device say.
#pragma once

#include <algorithm>
#include <array>

namespace rondo {

/// True for GPUs that compute: display controllers of all kinds, but not the graphics of management
/// controllers, which only show a console.
/// @param baseClass the upper byte of the class: 0x03 for displays
constexpr bool isGpu(unsigned baseClass, unsigned vendor) {
  constexpr std::array kConsoleVendors = {0x102bU /* Matrox */, 0x1a03U /* ASPEED */};
  return baseClass == 0x03 && std::ranges::find(kConsoleVendors, vendor) == kConsoleVendors.end();
}

}  // namespace rondo
