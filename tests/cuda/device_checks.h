// What tests of kernels do with operations: run them on device ranks and compare with the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda/device_ranks.h"

namespace rondo::testing {

/// ThreadSanitizer and AddressSanitizer take 10 to 50 times as long: tests with many cases run one
/// in so many.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::size_t kThinning = 20;
#else
inline constexpr std::size_t kThinning = 1;
#endif

/// The ranks that a shape needs.
DeviceShape deviceShape(const OperationShape& shape);

/// "schedule random, seed 3, torn packs".
std::string describe(const emulator::Options& options);

/// Where an operation's outputs differ from what the host's lanes made; empty if nowhere.
std::string difference(const Operation& operation, const std::vector<Bytes>& expected);

/// Operations that are queued on the same ranks, and what each must give.
class Queue {
 public:
  explicit Queue(const DeviceShape& shape) : shape_(shape), ranks_(shape) {}

  /// Makes the operation, with inputs from its number in the queue.
  Operation& add(const OperationShape& shape);

  /// Queues everything that was added since the last run, and runs it. @return what went wrong,
  /// with what it takes to do it again; empty if nothing
  std::string run(const emulator::Options& options);

  /// Has a rank come late to the next run: it looks around so many times first. Not in one launch.
  void delay(int rank, unsigned looks) { delays_.emplace_back(rank, looks); }

  DeviceRanks& ranks() { return ranks_; }

 private:
  DeviceShape shape_;
  DeviceRanks ranks_;
  std::vector<std::unique_ptr<Operation>> operations_;
  std::size_t done_ = 0;
  std::vector<std::pair<int, unsigned>> delays_;
};

/// Runs one operation on fresh ranks. @return as Queue::run()
std::string runOnce(const OperationShape& shape,
                    const DeviceShape& ranks,
                    const emulator::Options& options);

}  // namespace rondo::testing
