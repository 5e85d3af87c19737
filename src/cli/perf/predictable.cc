#include "src/cli/perf/predictable.h"

#include <algorithm>
#include <cstring>

#include "collectives/buffers.h"
#include "src/cli/perf/predictable_values.h"

namespace rondo::perf {

namespace {

/// Stores the low bytes of a word. The host is little-endian, as the library requires.
void storeWord(Word word, std::size_t bytes, std::byte* to) {
  std::memcpy(to, &word, bytes);
}

/// One period of `element(index)`.
template <class ElementAt>
std::vector<std::byte> makeTable(std::size_t elemBytes, const ElementAt& element) {
  std::vector<std::byte> table(kPredictablePeriod * elemBytes);
  for (std::size_t index = 0; index < kPredictablePeriod; ++index) {
    storeWord(element(index), elemBytes, table.data() + index * elemBytes);
  }
  return table;
}

/// Counts the elements that differ in one run.
Mismatch compareRun(const std::byte* expected,
                    const std::byte* found,
                    std::size_t elems,
                    std::size_t elemBytes) {
  Mismatch mismatch;
  if (std::memcmp(expected, found, elems * elemBytes) == 0) return mismatch;
  for (std::size_t index = 0; index < elems; ++index) {
    const std::size_t at = index * elemBytes;
    if (std::memcmp(expected + at, found + at, elemBytes) == 0) continue;
    if (mismatch.wrong == 0) mismatch.first = index;
    ++mismatch.wrong;
  }
  return mismatch;
}

}  // namespace

PredictableData::PredictableData(const PredictableCall& call)
    : call_(call), elemBytes_(elementBytes(call.type)) {
  const bool reduces = isReduction(call.collective);
  const ReductionValues values{call.type, call.op, call.ranks, call.seed};
  for (int rank = 0; rank < call.ranks; ++rank) {
    inputs_.push_back(makeTable(elemBytes_, [&](std::size_t index) {
      return reduces ? values.input(rank, index) : movedElement(call.type, call.seed, rank, index);
    }));
  }
  if (!reduces) return;
  reduced_ = makeTable(elemBytes_, [&](std::size_t index) { return values.reduced(index); });
}

std::size_t PredictableData::inputElems(int rank) const {
  // Of messages each rank is the root of its own.
  const int root = call_.form == Form::kMessages ? rank : call_.root;
  return elemsIn(buffersOf(call_.collective).input, rank, root);
}

std::size_t PredictableData::outputElems(int rank) const {
  // Of an all-to-all each rank gets blocks that are its own.
  if (call_.collective == Collective::kAllToAll)
    return static_cast<std::size_t>(call_.ranks) * blocks().of(rank);
  return elemsIn(buffersOf(call_.collective).output, rank, call_.root);
}

std::size_t PredictableData::elemsIn(Extent extent, int rank, int root) const {
  const std::size_t parts = blocksIn(extent, {rank, call_.ranks, root});
  if (parts == 0) return 0;
  return holdsBlocks(extent) ? blocks().before(call_.ranks) : blocks().of(rank);
}

PredictableData::Piece PredictableData::inputPiece(int rank) const {
  return {&inputs_[static_cast<std::size_t>(rank)], 0, inputElems(rank)};
}

std::vector<PredictableData::Piece> PredictableData::outputPieces(int rank) const {
  const std::size_t ownBlock = blocks().before(rank);
  const bool fromBefore = call_.form == Form::kMessages;
  const int root = fromBefore ? (rank + call_.ranks - 1) % call_.ranks : call_.root;
  const Table& fromRoot = inputs_[static_cast<std::size_t>(root)];
  if (outputElems(rank) == 0) return {};
  switch (call_.collective) {
    case Collective::kAllGather:
    case Collective::kGather:
      return ownPieceOfEach();
    case Collective::kAllToAll:
      return pieceOfEach(rank);
    case Collective::kBroadcast:
      return {{&fromRoot, 0, call_.count}};
    case Collective::kScatter:
      return {{&fromRoot, ownBlock, blocks().of(rank)}};
    case Collective::kReduceScatter:
      return {{&reduced_, ownBlock, blocks().of(rank)}};
    default:
      return {{&reduced_, 0, call_.count}};
  }
}

std::vector<PredictableData::Piece> PredictableData::pieceOfEach(int rank) const {
  std::vector<Piece> pieces;
  for (const Table& table : inputs_)
    pieces.push_back({&table, blocks().before(rank), blocks().of(rank)});
  return pieces;
}

std::vector<PredictableData::Piece> PredictableData::ownPieceOfEach() const {
  std::vector<Piece> pieces;
  for (std::size_t rank = 0; rank < inputs_.size(); ++rank)
    pieces.push_back({&inputs_[rank], 0, blocks().of(static_cast<int>(rank))});
  return pieces;
}

void PredictableData::write(std::span<const Piece> pieces, std::span<std::byte> to) const {
  for (const Piece& piece : pieces) {
    for (std::size_t done = 0; done < piece.elems;) {
      const std::size_t at = (piece.first + done) % kPredictablePeriod;
      const std::size_t elems = std::min(kPredictablePeriod - at, piece.elems - done);
      std::memcpy(to.data(), piece.table->data() + at * elemBytes_, elems * elemBytes_);
      to = to.subspan(elems * elemBytes_);
      done += elems;
    }
  }
}

Mismatch PredictableData::check(std::span<const Piece> pieces,
                                std::span<const std::byte> found) const {
  Mismatch total;
  std::size_t before = 0;  // elements already compared
  for (const Piece& piece : pieces) {
    for (std::size_t done = 0; done < piece.elems;) {
      const std::size_t at = (piece.first + done) % kPredictablePeriod;
      const std::size_t elems = std::min(kPredictablePeriod - at, piece.elems - done);
      const Mismatch run = compareRun(piece.table->data() + at * elemBytes_,
                                      found.data() + before * elemBytes_, elems, elemBytes_);
      if (total.wrong == 0 && run.wrong > 0) total.first = before + run.first;
      total.wrong += run.wrong;
      before += elems;
      done += elems;
    }
  }
  return total;
}

void PredictableData::writeInput(int rank, std::span<std::byte> to) const {
  const Piece piece = inputPiece(rank);
  write({&piece, 1}, to);
}

void PredictableData::writeExpected(int rank, std::span<std::byte> to) const {
  write(outputPieces(rank), to);
}

Mismatch PredictableData::checkInput(int rank, std::span<const std::byte> input) const {
  const Piece piece = inputPiece(rank);
  return check({&piece, 1}, input);
}

Mismatch PredictableData::checkOutput(int rank, std::span<const std::byte> output) const {
  return check(outputPieces(rank), output);
}

void PredictableData::writeScale(int rank, std::span<std::byte> to) const {
  const ReductionValues values{call_.type, call_.op, call_.ranks, call_.seed};
  storeWord(values.scale(rank), elemBytes_, to.data());
}

}  // namespace rondo::perf
