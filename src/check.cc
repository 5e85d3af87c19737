#include "src/check.h"

#include <cstdio>
#include <cstdlib>

namespace rondo::detail {

void checkFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "rondo: internal fault: %s is false at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace rondo::detail
