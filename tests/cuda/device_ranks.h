// Ranks of an emulated GPU, or of several: their connections in plain memory, and collectives
// launched on them by the kernels' own code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <memory_resource>
#include <tuple>
#include <vector>

#include "kernels/cuda/launch.h"
#include "tests/cuda/emulator/machine.h"
#include "tests/cuda/operation.h"

namespace rondo::testing {

struct DeviceShape {
  int ranks = 1;
  std::size_t slotBytes = 1024;
  std::uint32_t slotCount = 2;
  unsigned threads = 32;
  /// Fillings that each connection has behind it when it is made.
  std::uint64_t firstPosition = 0;
  /// One launch for all ranks, as those of one process on one device have; else one per rank.
  bool oneLaunch = false;
  /// Where the connections lie.
  std::pmr::memory_resource* memory = std::pmr::get_default_resource();
};

class DeviceRanks {
 public:
  explicit DeviceRanks(const DeviceShape& shape) : shape_(shape) {}

  /// Queues `operation` on all ranks. Its outputs are complete when the machine has run. Both must
  /// live until then.
  void enqueue(Operation& operation, emulator::Machine& machine);

  /// Queues one rank's part of `operation` only; its slots say that they belong to `call`.
  void enqueueRank(Operation& operation, int rank, std::uint64_t call, emulator::Machine& machine);

  /// Has every wait end. A kernel that plays the host may call it, too.
  void abort();

  /// Between runs: as if every connection there is had carried `position` fillings.
  void jumpTo(std::uint64_t position);

  /// Between runs: leaves in every line of every connection there is what filling number `first`,
  /// or the one of the next slotCount - 1 that uses the line's slot, wrote there.
  void leaveLines(std::uint64_t first);

  /// The same with wide lines, whose data look like marks of lines of the filling that uses the
  /// slot next.
  void leaveWideLines(std::uint64_t first);

  /// By launch in the order they were queued, then by rank and channel.
  const std::vector<std::unique_ptr<device::Report>>& reports() const { return reports_; }

 private:
  struct Wire;

  void leave(std::uint64_t first, bool wide);

  device::End* sendEnd(int from, int to, int channel);
  device::End* recvEnd(int from, int to, int channel);
  Wire& wire(int from, int to, int channel);
  device::Lane lane(const Operation& operation, int rank, int channel);
  device::RankWork work(Operation& operation, int rank, std::uint64_t call);
  void launch(const Operation& operation,
              int firstRank,
              std::vector<device::RankWork> works,
              emulator::Machine& machine);

  DeviceShape shape_;
  std::uint32_t abortFlag_ = 0;
  std::uint64_t calls_ = 0;
  std::map<std::tuple<int, int, int>, std::shared_ptr<Wire>> wires_;
  // What launches point to.
  std::vector<std::unique_ptr<std::vector<device::End*>>> tables_;
  std::vector<std::unique_ptr<std::vector<device::Lane>>> lanes_;
  std::vector<std::unique_ptr<Bytes>> scratch_;
  std::vector<std::unique_ptr<device::Report>> reports_;
};

}  // namespace rondo::testing
