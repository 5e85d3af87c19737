// Ranks that are threads, each on an (emulated) GPU, for tests that call the library as a program
// does.
#pragma once

#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rondo/rondo.h"
#include "tests/cuda/device_floats.h"

namespace rondo::testing {

/// The communicators of ranks on devices.
class Team {
 public:
  explicit Team(std::vector<int> devices, const rondoConfig_t* config = nullptr)
      : devices_(std::move(devices)), comms_(devices_.size()) {
    const rondoResult_t made = rondoCommInitAllOnDevices(
        comms_.data(), static_cast<int>(devices_.size()), devices_.data(), config);
    EXPECT_EQ(made, rondoSuccess) << rondoGetLastError(nullptr);
  }

  ~Team() {
    for (const rondoComm_t comm : comms_)
      EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
  }

  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  Team(Team&&) = delete;
  Team& operator=(Team&&) = delete;

  int ranks() const { return static_cast<int>(comms_.size()); }

  rondoComm_t comm(int rank) const { return comms_[static_cast<std::size_t>(rank)]; }

  /// Runs `body(rank, comm, stream)` for each rank, in a thread of its own with a stream of its
  /// device, and waits for the stream.
  template <class Body>
  void run(const Body& body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks(); ++rank) {
      threads.emplace_back([this, rank, &body] {
        const OnDevice on(devices_[static_cast<std::size_t>(rank)]);
        cuda::Stream stream = nullptr;
        ASSERT_EQ(driver().streamCreate(&stream, cuda::kStreamNonBlocking), cuda::kSuccess);
        body(rank, comm(rank), stream);
        EXPECT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
        EXPECT_EQ(driver().streamDestroy(stream), cuda::kSuccess);
      });
    }
    for (std::thread& thread : threads)
      thread.join();
  }

 private:
  std::vector<int> devices_;
  std::vector<rondoComm_t> comms_;
};

}  // namespace rondo::testing
