#include "src/train/data_parallel.h"

#include <utility>

#include "src/train/bfloat16.h"

namespace rondo::train {

namespace {

std::vector<GradientSpec> gradientsOf(const ParameterLayout& layout) {
  std::vector<GradientSpec> gradients;
  for (std::size_t tensor = 0; tensor < layout.size(); ++tensor) {
    gradients.push_back(
        {layout[tensor].name, rondoFloat32, layout[tensor].count, nullptr, layout[tensor].uses});
  }
  return gradients;
}

}  // namespace

DataParallel::DataParallel(const Communicator& comm,
                           ParameterLayout layout,
                           const TrainingOptions& options)
    : TrainingBase(comm, std::move(layout), options),
      buckets_(comm_, gradientsOf(layout_), options_.buckets) {
  meter_.take(&TrainingMemory::gradients, layout_.elems() * sizeof(float));
  for (std::size_t unit = 0; unit < layout_.units(); ++unit) {
    const std::size_t elems = layout_.unitElems(unit);
    Unit& made = units_.emplace_back();
    made.parameters = MeteredBuffer(meter_, mastersKind(), elems);
    if (roundsParameters())
      made.rounded = MeteredHalves(meter_, &TrainingMemory::parameters, elems);
    for (std::size_t k = 0; k < options_.optimizer.states(); ++k)
      made.states[k] = MeteredBuffer(meter_, &TrainingMemory::optimizer, elems);
  }
}

const float* DataParallel::acquire(std::size_t number) {
  Unit& unit = units_[number];
  if (!roundsParameters()) return unit.parameters.data();
  if (++unit.holders == 1) {
    const std::size_t elems = layout_.unitElems(number);
    unit.widened = MeteredBuffer(meter_, &TrainingMemory::parameters, elems);
    fromBfloat16(unit.rounded.data(), unit.widened.data(), elems);
  }
  return unit.widened.data();
}

void DataParallel::release(std::size_t number) {
  if (roundsParameters() && --units_[number].holders == 0) units_[number].widened = {};
}

void DataParallel::afterUpdate() {
  if (!roundsParameters()) return;
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    toBfloat16(units_[unit].parameters.data(), units_[unit].rounded.data(),
               layout_.unitElems(unit));
  }
}

void DataParallel::synchronize(bool on) {
  noSync_.reset();
  if (!on) noSync_.emplace(buckets_);
}

TrainingBase::Held DataParallel::held(std::size_t unit) const {
  const Unit& own = units_[unit];
  const Share all{0, layout_.unitElems(unit)};
  return {own.parameters.data(), all, {own.states[0].data(), own.states[1].data()}, all};
}

CommunicationTimes DataParallel::times() const {
  const BucketTimes times = buckets_.times();
  return {times.communicating, times.exposed, times.bytes, times.codedBytes, times.uncodedBytes};
}

}  // namespace rondo::train
