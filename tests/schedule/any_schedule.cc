#include "tests/schedule/any_schedule.h"

namespace rondo::verifier {
namespace {

template <Schedule S>
class ErasedSchedule final : public AnySchedule {
 public:
  explicit ErasedSchedule(const ScheduleArgs& args) : schedule_(args) {}

  std::size_t size() const override { return schedule_.size(); }

  Step step(std::size_t index) const override { return schedule_.step(index); }

  int recvPeers() const override { return schedule_.recvPeers(); }

  int recvPeer(int entry) const override { return schedule_.recvPeer(entry); }

  int sendPeers() const override { return schedule_.sendPeers(); }

  int sendPeer(int entry) const override { return schedule_.sendPeer(entry); }

  std::size_t scratchElems() const override { return schedule_.scratchElems(); }

  Cost cost() const override { return schedule_.cost(); }

 private:
  S schedule_;
};

}  // namespace

std::unique_ptr<AnySchedule> makeSchedule(AlgorithmId algorithm, const ScheduleArgs& args) {
  std::unique_ptr<AnySchedule> made;
  visitAlgorithm(algorithm, [&]<class S>() { made = std::make_unique<ErasedSchedule<S>>(args); });
  return made;
}

RecordedSchedule::RecordedSchedule(const AnySchedule& original)
    : scratch(original.scratchElems()), total(original.cost()) {
  for (std::size_t index = 0; index < original.size(); ++index)
    steps.push_back(original.step(index));
  for (int entry = 0; entry < original.recvPeers(); ++entry)
    recvTable.push_back(original.recvPeer(entry));
  for (int entry = 0; entry < original.sendPeers(); ++entry)
    sendTable.push_back(original.sendPeer(entry));
}

}  // namespace rondo::verifier
