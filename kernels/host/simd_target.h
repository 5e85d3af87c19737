// Which compiled variant of the combine loops this processor can run, as a pure function of what
// CPUID and XGETBV say, and where each variant's loops are. Callers use kernels/host/combine.h.
#pragma once

#include <cstdint>

#include "kernels/data_type.h"
#include "kernels/host/combine.h"

namespace rondo::host {

/// The processor's and the kernel's word, raw. All zero on processors that are not x86.
struct CpuFeatureWords {
  std::uint32_t leaf1Ecx = 0;          ///< CPUID 1, ECX
  std::uint32_t leaf7Ebx = 0;          ///< CPUID 7.0, EBX; 0 where that leaf does not exist
  std::uint32_t leaf80000001Ecx = 0;   ///< CPUID 8000_0001, ECX
  std::uint64_t enabledStateMask = 0;  ///< XCR0; 0 unless the kernel has turned XGETBV on
};

/// True if a processor that reports `words` runs the variant's instructions and its kernel saves
/// the registers that they use.
bool cpuRuns(SimdTarget target, const CpuFeatureWords& words);

/// The widest variant for which cpuRuns() holds.
SimdTarget widestTarget(const CpuFeatureWords& words);

/// Asks this processor.
CpuFeatureWords readCpuFeatureWords();

/// The variants' own tables; null for a pair that the variant leaves to the scalar loops.
CombineFn scalarCombineFunction(DataType type, ReduceOp op);
CombineFn avx2CombineFunction(DataType type, ReduceOp op);
CombineFn avx512CombineFunction(DataType type, ReduceOp op);

}  // namespace rondo::host
