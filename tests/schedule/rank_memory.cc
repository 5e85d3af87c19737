#include "tests/schedule/rank_memory.h"

namespace rondo::verifier {

RankMemory::RankMemory(
    const Call& call, std::size_t callIndex, int rank, int ranks, std::size_t scratch)
    : call_(call),
      callIndex_(callIndex),
      rank_(rank),
      inputElems_(call.inputElems(rank, ranks)),
      output_(call.outputElems(rank, ranks)),
      scratch_(scratch) {}

Failure RankMemory::checkUserRow(std::size_t at, std::size_t elems, std::size_t size) const {
  if (size == 0) return Failure::kForbiddenBuffer;
  if (at > size || elems > size - at) return Failure::kOutOfRange;
  const std::size_t inBlock = at % call_.bufferElems;
  const Span& share = call_.share;
  const bool inShare = inBlock >= share.offset && inBlock + elems <= share.offset + share.elems;
  return inShare ? Failure::kNone : Failure::kOutsideShare;
}

Failure RankMemory::checkRow(Source from, std::size_t at, std::size_t elems) const {
  if (elems == 0 || from == Source::kNone) return Failure::kNone;
  if (from == Source::kInput) return checkUserRow(at, elems, inputElems_);
  return checkRow(from == Source::kOutput ? Sink::kOutput : Sink::kScratch, at, elems);
}

Failure RankMemory::checkRow(Sink to, std::size_t at, std::size_t elems) const {
  if (elems == 0 || to == Sink::kNone) return Failure::kNone;
  if (to == Sink::kOutput) return checkUserRow(at, elems, output_.size());
  const bool fits = at <= scratch_.size() && elems <= scratch_.size() - at;
  return fits ? Failure::kNone : Failure::kOutOfRange;
}

const RankMemory::Cell* RankMemory::alias(std::size_t at) const {
  if (!call_.inPlace) return nullptr;
  const std::ptrdiff_t place = static_cast<std::ptrdiff_t>(at) + call_.aliasShift(rank_);
  const bool shared = place >= 0 && static_cast<std::size_t>(place) < output_.size();
  return shared ? &output_[static_cast<std::size_t>(place)] : nullptr;
}

Failure RankMemory::read(
    Source from, std::size_t at, std::size_t step, std::size_t index, Value& value) {
  if (from == Source::kInput) {
    if (const Cell* const cell = alias(at)) {
      if (cell->written) return Failure::kInputOverwritten;
      mark(output_[static_cast<std::size_t>(cell - output_.data())], step, index);
    }
    value = Value::input(callIndex_, rank_, at);
    return Failure::kNone;
  }
  Cell& cell = from == Source::kOutput ? output_[at] : scratch_[at];
  if (!cell.written) return Failure::kUnwrittenRead;
  mark(cell, step, index);
  value = cell.value;
  return Failure::kNone;
}

Failure RankMemory::write(
    Sink to, std::size_t at, std::size_t step, std::size_t index, const Value& value) {
  Cell& cell = to == Sink::kOutput ? output_[at] : scratch_[at];
  if (cell.readStep == static_cast<std::uint32_t>(step) && cell.readIndex != index) {
    return Failure::kInPlaceOverlap;
  }
  if (to == Sink::kOutput && cell.written) return Failure::kDoubleWrite;
  cell.value = value;
  cell.written = true;
  return Failure::kNone;
}

bool RankMemory::holds(Source buffer, std::size_t at, const std::vector<Value>& values) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool isInput = buffer == Source::kInput;
    const Cell* const cell = isInput ? alias(at + i) : &output_[at + i];
    if (isInput && (cell == nullptr || !cell->written)) continue;  // nothing was stored over it
    const bool same = cell->written && cell->value.element == values[i].element &&
                      cell->value.expression == values[i].expression;
    if (!same) return false;
  }
  return true;
}

}  // namespace rondo::verifier
