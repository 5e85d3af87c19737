// Processors that are not x86: only the scalar loops exist.
#include "kernels/host/int8_loops.h"
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

const Int8Loops kAvx2Int8Loops = {};
const Int8Loops kAvx512Int8Loops = {};

}  // namespace rondo::host
