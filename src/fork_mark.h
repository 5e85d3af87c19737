// How a process finds that it was forked off from the one that made something, without asking for a
// process id at each call.
#pragma once

#include "transports/fork_wiped_page.h"

namespace rondo {

/// Made by whoever owns the thing that children must not use.
class ForkMark {
 public:
  ForkMark() {
    if (page_.word() != nullptr) *page_.word() = 1;
  }

  /// False in a process that was forked off since the mark was made. Where there was no memory for
  /// the mark, or the kernel is older than Linux 4.14, always true.
  bool inOwnProcess() const { return page_.word() == nullptr || *page_.word() != 0; }

 private:
  ForkWipedPage page_;
};

}  // namespace rondo
