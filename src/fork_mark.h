// How a process finds that it was forked off from the one that made something: a page that the
// kernel hands to children as zeros. No handler to register, no process id to ask for at each call,
// and nothing shared by communicators.
#pragma once

#include <cstdint>
#include <memory>

namespace rondo {

/// Made by whoever owns the thing that children must not use.
class ForkMark {
 public:
  ForkMark();

  /// False in a process that was forked off since the mark was made. Where there was no memory for
  /// the mark, or the kernel is older than Linux 4.14, always true.
  bool inOwnProcess() const { return page_ == nullptr || *page_ != 0; }

 private:
  struct Unmap {
    void operator()(std::uint8_t* page) const;
  };

  std::unique_ptr<std::uint8_t, Unmap> page_;
};

}  // namespace rondo
