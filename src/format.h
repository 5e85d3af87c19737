// The one place that includes fmt: header-only, so that the library depends on no other at run
// time. Its symbols are hidden with ours.
#pragma once

#ifndef FMT_HEADER_ONLY
#define FMT_HEADER_ONLY
#endif
#include <fmt/core.h>
