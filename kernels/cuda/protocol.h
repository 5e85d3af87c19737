// The protocols of kernels, by number and by name: how what a step sends is laid out, and how it is
// seen to be there.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "kernels/data_type.h"
#include "kernels/portability.h"

namespace rondo::device {

enum class Protocol : std::uint8_t {
  kStaged,    ///< elements in slots, the counter posted after them
  kLines,     ///< elements in lines that carry their own marks (lines.h); small data
  kWideLines  ///< in lines that eight threads write at once (wide_lines.h); only when asked for
};

inline constexpr Protocol kProtocols[] = {Protocol::kStaged, Protocol::kLines,
                                          Protocol::kWideLines};

/// As RONDO_CUDA_PROTOCOL spells it.
constexpr std::string_view protocolName(Protocol protocol) {
  switch (protocol) {
    case Protocol::kStaged:
      return "slots";
    case Protocol::kLines:
      return "lines";
    case Protocol::kWideLines:
      return "wide_lines";
  }
  return "";
}

constexpr std::optional<Protocol> findProtocol(std::string_view name) {
  for (const Protocol protocol : kProtocols) {
    if (protocolName(protocol) == name) return protocol;
  }
  return std::nullopt;
}

/// Whether kernels reduce elements of `type` by `op` in lines of either kind. Averages of 8-bit
/// integers go in slots only: their sums are four times as wide as what crosses, and a pack of them
/// takes more registers than a loop over lines leaves.
RONDO_HD constexpr bool reducesInLines(DataType type, ReduceOp op) {
  return op != ReduceOp::kAvg || (type != DataType::kInt8 && type != DataType::kUint8);
}

}  // namespace rondo::device
