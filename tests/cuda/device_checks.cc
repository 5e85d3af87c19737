#include "tests/cuda/device_checks.h"

#include "tests/collective/reference.h"

namespace rondo::testing {

DeviceShape deviceShape(const OperationShape& shape) {
  DeviceShape device;
  device.ranks = shape.ranks;
  device.slotBytes = shape.slotBytes;
  device.slotCount = shape.slotCount;
  return device;
}

std::string describe(const emulator::Options& options) {
  return fmt::format("schedule {}, seed {}{}{}",
                     options.schedule == emulator::Schedule::kRandom ? "random" : "round robin",
                     options.seed, options.tearPacks ? ", torn packs" : "",
                     options.residentBlocks != 0
                         ? fmt::format(", {} resident blocks", options.residentBlocks)
                         : "");
}

std::string difference(const Operation& operation, const std::vector<Bytes>& expected) {
  for (std::size_t rank = 0; rank < expected.size(); ++rank) {
    const std::string text = describeDifference(operation.request.type, true, expected[rank],
                                                operation.buffers[rank].output);
    if (!text.empty())
      return fmt::format("wrong result of {}\nrank {}: {}", operation.describe(), rank, text);
  }
  return "";
}

Operation& Queue::add(const OperationShape& shape) {
  const std::uint64_t seed = 7 + operations_.size();
  operations_.push_back(std::make_unique<Operation>(makeOperation(shape, seed)));
  return *operations_.back();
}

std::string Queue::run(const emulator::Options& options) {
  emulator::Machine machine(options);
  const std::uint32_t nothing = 0;
  for (const auto& [rank, looks] : delays_) {
    machine.launch({.name = fmt::format("rank {}", rank), .kernel = "delay", .threads = 1},
                   [&nothing, looks = looks] {
                     for (unsigned i = 0; i < looks; ++i)
                       device::peekFlag(nothing);
                   });
  }
  delays_.clear();
  std::vector<std::vector<Bytes>> expected;
  const std::size_t first = done_;
  for (; done_ < operations_.size(); ++done_) {
    expected.push_back(runOnHost(*operations_[done_], shape_.slotBytes));
    ranks_.enqueue(*operations_[done_], machine);
  }
  const emulator::Outcome outcome = machine.run();
  if (!outcome.finished)
    return fmt::format("{}\n{}", operations_[first]->describe(), outcome.report);
  for (std::size_t i = first; i < done_; ++i) {
    const std::string text = difference(*operations_[i], expected[i - first]);
    if (!text.empty())
      return fmt::format("operation {} of the queue: {}\n{}", i, text, describe(options));
  }
  return "";
}

std::string runOnce(const OperationShape& shape,
                    const DeviceShape& ranks,
                    const emulator::Options& options) {
  Queue queue(ranks);
  queue.add(shape);
  return queue.run(options);
}

}  // namespace rondo::testing
