// One of all schedules, chosen at run time: what executors hold when the algorithm is a plan's
// choice.
#pragma once

#include <cstddef>
#include <type_traits>
#include <variant>

#include "collectives/registry.h"

namespace rondo {

class AnySchedule {
 public:
  AnySchedule(AlgorithmId id, const ScheduleArgs& args) : schedule_(make(id, args)) {}

  std::size_t size() const {
    return std::visit([](const auto& s) { return s.size(); }, schedule_);
  }

  Step step(std::size_t index) const {
    return std::visit([index](const auto& s) { return s.step(index); }, schedule_);
  }

  int recvPeers() const {
    return std::visit([](const auto& s) { return s.recvPeers(); }, schedule_);
  }

  int recvPeer(int entry) const {
    return std::visit([entry](const auto& s) { return s.recvPeer(entry); }, schedule_);
  }

  int sendPeers() const {
    return std::visit([](const auto& s) { return s.sendPeers(); }, schedule_);
  }

  int sendPeer(int entry) const {
    return std::visit([entry](const auto& s) { return s.sendPeer(entry); }, schedule_);
  }

  std::size_t scratchElems() const {
    return std::visit([](const auto& s) { return s.scratchElems(); }, schedule_);
  }

  Cost cost() const {
    return std::visit([](const auto& s) { return s.cost(); }, schedule_);
  }

 private:
  template <class List>
  struct VariantOf;

  template <class... S>
  struct VariantOf<ScheduleList<S...>> {
    using Type = std::variant<S...>;
  };

  using Variant = VariantOf<AllSchedules>::Type;

  static Variant make(AlgorithmId id, const ScheduleArgs& args) {
    Variant made(std::in_place_index<0>, args);
    visitAlgorithm(id, [&]<Schedule S>() { made.template emplace<S>(args); });
    return made;
  }

  Variant schedule_;
};

static_assert(std::is_trivially_copyable_v<AnySchedule>, "plans are copied as plain data");

}  // namespace rondo
