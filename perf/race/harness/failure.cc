#include "perf/race/harness/failure.h"

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include <unistd.h>

namespace rondo::race {

void fail(std::string_view what) {
  const std::string line = "race: " + std::string(what) + "\n";
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  ::_exit(kFailedStatus);
}

void failSystem(std::string_view call) {
  fail(std::string(call) + ": " + std::generic_category().message(errno));
}

}  // namespace rondo::race
