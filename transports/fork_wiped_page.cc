#include "transports/fork_wiped_page.h"

#include <sys/mman.h>

#include "transports/pages.h"

namespace rondo {

ForkWipedPage::ForkWipedPage() {
  void* const page =
      ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  word_.reset(static_cast<std::uint64_t*>(page));
  (void)::madvise(page, kPageBytes, MADV_WIPEONFORK);
}

void ForkWipedPage::Unmap::operator()(std::uint64_t* word) const {
  (void)::munmap(word, kPageBytes);
}

}  // namespace rondo
