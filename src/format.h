// The one place that includes fmt. It is compiled into the library once (format.cc), so that the
// library depends on no other at run time, and under a name of its own, so that a program that
// links another copy of fmt has no clash.
#pragma once

#define FMT_BEGIN_NAMESPACE \
  namespace fmt {           \
  inline namespace rondo_own {
#define FMT_END_NAMESPACE \
  }                       \
  }
#include <fmt/core.h>
