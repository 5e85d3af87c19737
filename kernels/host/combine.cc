// Choice of the loop, and the copies that need no arithmetic. The loops themselves:
// combine_scalar.cc (the definition) and combine_simd.h (compiled once per instruction set).
#include "kernels/host/combine.h"

#include <algorithm>
#include <cstring>

#include "kernels/host/simd_target.h"

namespace rondo::host {

namespace {

/// Bytes copied to one target before the next target gets the same piece: a quarter of a 32 KiB
/// level-1 cache, so that the source is read from there for every target but the first.
constexpr std::size_t kCopyPieceBytes = 8 * 1024;

}  // namespace

std::string_view simdTargetName(SimdTarget target) {
  switch (target) {
    case SimdTarget::kScalar:
      return "scalar";
    case SimdTarget::kAvx2:
      return "avx2";
    case SimdTarget::kAvx512:
      return "avx512";
  }
  return "unknown";
}

bool simdTargetUsable(SimdTarget target) {
  return cpuRuns(target, readCpuFeatureWords());
}

SimdTarget bestSimdTarget() {
  return widestTarget(readCpuFeatureWords());
}

CombineFn combineFunction(DataType type, ReduceOp op, SimdTarget target) {
  if (!isReducible(type, op)) return nullptr;
  CombineFn function = nullptr;
  if (target == SimdTarget::kAvx2) function = avx2CombineFunction(type, op);
  if (target == SimdTarget::kAvx512) function = avx512CombineFunction(type, op);
  return function != nullptr ? function : scalarCombineFunction(type, op);
}

void copyToAll(const void* source, std::span<void* const> targets, std::size_t bytes) noexcept {
  const auto* from = static_cast<const std::byte*>(source);
  const std::size_t pieceBytes = targets.size() > 1 ? kCopyPieceBytes : bytes;
  for (std::size_t first = 0; first < bytes; first += pieceBytes) {
    const std::size_t count = std::min(pieceBytes, bytes - first);
    for (void* target : targets) {
      if (target == source) continue;
      std::memcpy(static_cast<std::byte*>(target) + first, from + first, count);
    }
  }
}

}  // namespace rondo::host
