// The emulator of tests/cuda/emulator/: that kernels run on it as on a GPU, and that what is wrong
// with one is seen.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/cuda/device.h"
#include "tests/cuda/emulator/machine.h"

namespace rondo::emulator {
namespace {

void waitFor(const std::uint64_t& counter, std::uint64_t value) {
  while (device::observeCounter(counter) < value) {
  }
}

TEST(Emulator, CountersGoBackAndForth) {
  std::uint64_t ping = 0, pong = 0;
  Machine machine;
  machine.launch({.name = "rank 0", .threads = 1}, [&] {
    for (std::uint64_t i = 1; i <= 1000; ++i) {
      device::postCounter(ping, i);
      waitFor(pong, i);
    }
  });
  machine.launch({.name = "rank 1", .threads = 1}, [&] {
    for (std::uint64_t i = 1; i <= 1000; ++i) {
      waitFor(ping, i);
      device::postCounter(pong, i);
    }
  });
  const Outcome outcome = machine.run();
  EXPECT_TRUE(outcome.finished) << outcome.report;
  EXPECT_EQ(ping, 1000u);
  EXPECT_EQ(pong, 1000u);
  EXPECT_EQ(outcome.statistics.stores, 2000u);
}

}  // namespace
}  // namespace rondo::emulator
