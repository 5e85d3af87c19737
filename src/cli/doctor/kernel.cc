#include "src/cli/doctor/kernel.h"

#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "kernels/host/process_fence.h"
#include "src/format.h"
#include "src/net/file_descriptor.h"

namespace rondo::doctor {

KernelFacts readKernel() {
  utsname names{};
  (void)::uname(&names);
  const FileDescriptor self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  return {names.release, host::joinProcessFences(), self.valid()};
}

Findings examine(const KernelFacts& facts) {
  constexpr const char* kSandboxCure =
      "docker run --security-opt seccomp=unconfined ..., or allow the call in the seccomp profile";
  Findings findings;
  if (facts.membarrier) {
    findings.push_back(
        ok(fmt::format("Linux {} has membarrier: ranks that sleep are woken", facts.release)));
  } else {
    findings.push_back(warning(
        fmt::format("Linux {} gives no membarrier(GLOBAL_EXPEDITED), which is in Linux 4.16 and "
                    "later: a rank that sleeps looks around every millisecond instead",
                    facts.release),
        kSandboxCure));
  }
  if (facts.pidfd) {
    findings.push_back(ok("pidfd_open works: ranks of a host notice when one has ended"));
  } else {
    findings.push_back(
        warning("pidfd_open, which is in Linux 5.3 and later, does not work: a rank "
                "that has ended is not noticed before its process has been waited "
                "for, or while another has taken its number",
                kSandboxCure));
  }
  return findings;
}

}  // namespace rondo::doctor
