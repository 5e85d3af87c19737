#include "tests/cuda/emulator/machine.h"

#include <deque>
#include <utility>

#include "tests/cuda/emulator/report.h"
#include "tests/cuda/emulator/scheduler.h"

namespace rondo::emulator {

struct Machine::State {
  Options options;
  std::deque<Grid> grids;
  std::vector<NamedMemory> memory;
};

Machine::Machine(const Options& options) : state_(std::make_unique<State>()) {
  state_->options = options;
}

Machine::~Machine() = default;

void Machine::launch(Launch launch, std::function<void()> kernel) {
  Grid& grid = state_->grids.emplace_back();
  grid.launch = std::move(launch);
  grid.kernel = std::move(kernel);
}

void Machine::nameMemory(const void* memory, std::size_t bytes, std::string name) {
  state_->memory.push_back({static_cast<const std::byte*>(memory), bytes, std::move(name)});
}

Outcome Machine::run() {
  Outcome outcome;
  {
    Scheduler scheduler(state_->options, state_->grids);
    const Verdict verdict = scheduler.run();
    outcome.finished = verdict == Verdict::kFinished;
    outcome.statistics = scheduler.statistics();
    if (!outcome.finished)
      outcome.report = reportOf(scheduler, verdict, state_->options, state_->memory);
  }
  state_->grids.clear();
  return outcome;
}

}  // namespace rondo::emulator
