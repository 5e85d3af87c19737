#include "src/train/training_base.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "src/train/agreement.h"
#include "src/train/coded_exchange.h"
#include "src/train/exact_squares.h"

namespace rondo::train {

namespace {

std::vector<std::string> describe(const ParameterLayout& layout, const TrainingOptions& options) {
  std::vector<std::string> lines = layout.describe();
  lines.push_back("stage " + std::to_string(options.stage));
  lines.emplace_back(options.precision == ParameterPrecision::kBf16 ? "bf16" : "fp32");
  lines.push_back(options.optimizer.describe());
  lines.push_back(describe(options.buckets.compression));
  char line[120];
  std::snprintf(line, sizeof line, "norms to %a, loss scale %a, doubled after %llu steps",
                options.maxNorm, options.lossScale.value,
                static_cast<unsigned long long>(options.lossScale.growthInterval));
  lines.emplace_back(line);
  return lines;
}

/// Copies the part of `from`, which begins at `fromBegin`, that lies in `range`, which begins at
/// `to`.
void copyCommonPart(std::span<const float> from, std::size_t fromBegin, float* to, Share range) {
  const std::size_t begin = std::max(fromBegin, range.begin);
  const std::size_t end = std::min(fromBegin + from.size(), range.end);
  if (begin >= end) return;
  std::memcpy(to + (begin - range.begin), from.data() + (begin - fromBegin),
              (end - begin) * sizeof(float));
}

}  // namespace

Share shareOf(std::size_t elems, int ranks, int rank) {
  const auto n = static_cast<std::size_t>(ranks);
  const std::size_t each = (elems + n - 1) / n;
  const std::size_t begin = std::min(elems, each * static_cast<std::size_t>(rank));
  return {begin, std::min(elems, begin + each)};
}

TrainingBase::TrainingBase(const Communicator& comm,
                           ParameterLayout layout,
                           const TrainingOptions& options)
    : layout_(std::move(layout)),
      options_(options),
      comm_(comm.split(0, comm.rank())),
      rank_(comm_.rank()),
      ranks_(comm_.ranks()),
      scale_(options.lossScale) {
  requireAgreement(comm_, "trainings", describe(layout_, options_));
}

template <class Body>
void TrainingBase::forEachPiece(std::size_t unit, Share range, const Body& body) const {
  for (std::size_t tensor = layout_.firstOf(unit); tensor < layout_.firstOf(unit + 1); ++tensor) {
    const std::size_t offset = layout_.offset(tensor);
    const std::size_t begin = std::max(offset, range.begin);
    const std::size_t end = std::min(offset + layout_[tensor].count, range.end);
    if (begin < end) body(Piece{tensor, begin, end});
  }
}

void TrainingBase::initialize(
    const std::function<void(const ParameterSpec&, std::span<float>)>& fill) {
  for (std::size_t unit = 0; unit < layout_.units(); ++unit) {
    std::vector<float> values(layout_.unitElems(unit));
    for (std::size_t tensor = layout_.firstOf(unit);
         rank_ == 0 && tensor < layout_.firstOf(unit + 1); ++tensor) {
      fill(layout_[tensor],
           std::span(values).subspan(layout_.offset(tensor), layout_[tensor].count));
    }
    comm_.broadcast(values, 0);
    restore(unit, 0, {values, {}});
  }
  afterUpdate();
}

StepResult TrainingBase::step(double learningRate) {
  finishGradients();
  // Each element's square is added by one rank, whether or not others have the gradient, too.
  ExactSquares squares;
  for (std::size_t unit = 0; unit < layout_.units(); ++unit) {
    forEachPiece(unit, share(unit), [&](const Piece& piece) {
      squares.add({gradientOf(piece.parameter, piece.begin), piece.end - piece.begin});
    });
  }
  squares.allReduce(comm_);
  const double norm = squares.norm() / scale_.value;
  if (squares.overflow()) {
    ++skipped_;
  } else {
    double factor = 1 / scale_.value;
    if (options_.maxNorm > 0 && norm > options_.maxNorm) factor *= options_.maxNorm / norm;
    update(learningRate, static_cast<float>(factor));
  }
  scale_.follow(squares.overflow());
  clearGradients();
  return {squares.overflow(), norm};
}

void TrainingBase::update(double learningRate, float gradientFactor) {
  beforeUpdate();
  ++updates_;
  for (std::size_t unit = 0; unit < layout_.units(); ++unit) {
    const Held own = held(unit);
    forEachPiece(unit, own.stateRange, [&](const Piece& piece) {
      const std::size_t inStates = piece.begin - own.stateRange.begin;
      float* second = own.states[1] == nullptr ? nullptr : own.states[1] + inStates;
      updateParameters(options_.optimizer, updates_, static_cast<float>(learningRate),
                       gradientFactor,
                       {own.parameters + (piece.begin - own.parameterRange.begin),
                        gradientOf(piece.parameter, piece.begin),
                        {own.states[0] + inStates, second},
                        piece.end - piece.begin,
                        layout_[piece.parameter].decay});
    });
  }
  afterUpdate();
}

UnitState TrainingBase::state(std::size_t unit) const {
  const Held own = held(unit);
  const Share part = share(unit);
  UnitState state{{own.parameters + (part.begin - own.parameterRange.begin), part.size()}, {}};
  for (std::size_t k = 0; k < options_.optimizer.states(); ++k)
    state.states[k] = {own.states[k] + (part.begin - own.stateRange.begin), part.size()};
  return state;
}

void TrainingBase::restore(std::size_t unit, std::size_t begin, const UnitState& state) {
  beforeUpdate();
  const Held own = held(unit);
  copyCommonPart(state.parameters, begin, own.parameters, own.parameterRange);
  for (std::size_t k = 0; k < options_.optimizer.states(); ++k)
    copyCommonPart(state.states[k], begin, own.states[k], own.stateRange);
}

void TrainingBase::restored(std::uint64_t updates, std::uint64_t skipped, const LossScale& scale) {
  updates_ = updates;
  skipped_ = skipped;
  scale_ = scale;
  afterUpdate();
}

}  // namespace rondo::train
