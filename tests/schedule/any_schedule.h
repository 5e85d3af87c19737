// Schedules of any class behind one interface, so that one run can mix them.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "collectives/registry.h"

namespace rondo::verifier {

/// A schedule whose class is not known at compile time. Members as in the Schedule concept.
class AnySchedule {
 public:
  virtual ~AnySchedule() = default;
  virtual std::size_t size() const = 0;
  virtual Step step(std::size_t index) const = 0;
  virtual int recvPeers() const = 0;
  virtual int recvPeer(int entry) const = 0;
  virtual int sendPeers() const = 0;
  virtual int sendPeer(int entry) const = 0;
  virtual std::size_t scratchElems() const = 0;
  virtual Cost cost() const = 0;
};

/// The schedule of `algorithm` itself.
std::unique_ptr<AnySchedule> makeSchedule(AlgorithmId algorithm, const ScheduleArgs& args);

/// A schedule written out, so that it can be changed: what mutants are made of.
struct RecordedSchedule final : AnySchedule {
  explicit RecordedSchedule(const AnySchedule& original);

  std::size_t size() const override { return steps.size(); }

  Step step(std::size_t index) const override { return steps[index]; }

  int recvPeers() const override { return static_cast<int>(recvTable.size()); }

  int recvPeer(int entry) const override { return recvTable[static_cast<std::size_t>(entry)]; }

  int sendPeers() const override { return static_cast<int>(sendTable.size()); }

  int sendPeer(int entry) const override { return sendTable[static_cast<std::size_t>(entry)]; }

  std::size_t scratchElems() const override { return scratch; }

  Cost cost() const override { return total; }

  std::vector<Step> steps;
  std::vector<int> recvTable;
  std::vector<int> sendTable;
  std::size_t scratch = 0;
  Cost total;
};

}  // namespace rondo::verifier
