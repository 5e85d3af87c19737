// A page that the kernel hands to children as zeros: by it a process finds that it was forked off
// since something was made. No handler to register, no lock that a child could find locked.
#pragma once

#include <cstdint>
#include <memory>

namespace rondo {

class ForkWipedPage {
 public:
  /// A page of zeros.
  ForkWipedPage();

  /// Its first word: zero again in a process that was forked off. Null where there was no memory
  /// for the page. Where the kernel is older than Linux 4.14 children get a copy.
  std::uint64_t* word() const { return word_.get(); }

 private:
  struct Unmap {
    void operator()(std::uint64_t* word) const;
  };

  std::unique_ptr<std::uint64_t, Unmap> word_;
};

}  // namespace rondo
