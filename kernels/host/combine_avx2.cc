// The combine loops for AVX2 registers; the flags are in CMakeLists.txt.
#define HWY_COMPILE_ONLY_STATIC
#include "kernels/host/combine_simd.h"
#include "kernels/host/simd_target.h"

namespace rondo::host {

static_assert(HWY_TARGET == HWY_AVX2, "the compile flags of this file do not fit its name");

CombineFn avx2CombineFunction(DataType type, ReduceOp op) {
  return HWY_NAMESPACE::chooseCombine(type, op);
}

}  // namespace rondo::host
