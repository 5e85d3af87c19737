// Processors that are not x86: only the scalar loops exist.
#include "kernels/host/simd_target.h"

namespace rondo::host {

CpuFeatureWords readCpuFeatureWords() {
  return {};
}

CombineFn avx2CombineFunction(DataType, ReduceOp) {
  return nullptr;
}

CombineFn avx512CombineFunction(DataType, ReduceOp) {
  return nullptr;
}

}  // namespace rondo::host
