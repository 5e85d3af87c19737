#include "src/last_error.h"

#include <array>
#include <cstddef>
#include <string>

namespace rondo {

namespace {

struct Failure {
  std::uint64_t handle = 0;
  std::string message;
};

struct FailureRing {
  std::array<Failure, 8> failures;
  std::size_t newest = 0;
};

FailureRing& ringOfThisThread() {
  thread_local FailureRing ring;
  return ring;
}

}  // namespace

void rememberFailure(std::uint64_t handle, std::string_view message) noexcept {
  FailureRing& ring = ringOfThisThread();
  ring.newest = (ring.newest + 1) % ring.failures.size();
  Failure& failure = ring.failures[ring.newest];
  failure.handle = handle;
  try {
    failure.message = message;
  } catch (...) {
    failure.message.clear();  // out of memory: the result code must do
  }
}

const char* lastFailure(std::uint64_t handle) noexcept {
  const FailureRing& ring = ringOfThisThread();
  const std::size_t size = ring.failures.size();
  for (std::size_t age = 0; age < size; ++age) {
    const Failure& failure = ring.failures[(ring.newest + size - age) % size];
    if (handle == 0 || failure.handle == handle) return failure.message.c_str();
  }
  return "";
}

}  // namespace rondo
