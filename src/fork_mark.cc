#include "src/fork_mark.h"

#include <sys/mman.h>

#include "transports/pages.h"

namespace rondo {

ForkMark::ForkMark() {
  void* const page =
      ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  page_.reset(static_cast<std::uint8_t*>(page));
  *page_ = 1;
  (void)::madvise(page, kPageBytes, MADV_WIPEONFORK);
}

void ForkMark::Unmap::operator()(std::uint8_t* page) const {
  (void)::munmap(page, kPageBytes);
}

}  // namespace rondo
