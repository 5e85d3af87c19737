// The loops of the int8 codec for AVX-512 registers; the flags are in CMakeLists.txt.
#define HWY_COMPILE_ONLY_STATIC
#include "kernels/host/int8_loops_simd.h"

namespace rondo::host {

static_assert(HWY_TARGET == HWY_AVX3, "the compile flags of this file do not fit its name");

const Int8Loops kAvx512Int8Loops = HWY_NAMESPACE::kInt8Loops;

}  // namespace rondo::host
