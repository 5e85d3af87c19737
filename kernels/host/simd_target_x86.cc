// x86-64: asks CPUID and XGETBV.
#include <cpuid.h>

#include "kernels/host/simd_target.h"

namespace rondo::host {

namespace {

constexpr std::uint32_t kOsxsave = 1u << 27;

/// XCR0: the register state that the kernel saves at a context switch.
std::uint64_t readEnabledStateMask() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

}  // namespace

CpuFeatureWords readCpuFeatureWords() {
  CpuFeatureWords words;
  std::uint32_t eax = 0;
  std::uint32_t ebx = 0;
  std::uint32_t ecx = 0;
  std::uint32_t edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) words.leaf1Ecx = ecx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) words.leaf7Ebx = ebx;
  if (__get_cpuid(0x80000001u, &eax, &ebx, &ecx, &edx) != 0) words.leaf80000001Ecx = ecx;
  if ((words.leaf1Ecx & kOsxsave) != 0) words.enabledStateMask = readEnabledStateMask();
  return words;
}

}  // namespace rondo::host
