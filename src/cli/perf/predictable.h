// Data for tests and benchmarks whose results are known beforehand, bit by bit: inputs of every
// rank and what a collective must make of them. The expected values are worked out with integers,
// doubles and an encoder of this file's own, never with the library's arithmetic.
//
// Inputs are chosen so that every order of folding gives the same bits: integers wrap, floats are
// small whole numbers (sums) or powers of two (products) times a common power of two, and no
// partial result leaves the range in which the type is exact. Pure moves carry random bits, NaNs
// included.
//
// All values repeat with a prime period, so that large buffers cost a table look-up: a block that
// was swapped between ranks or shifted by anything but a multiple of the period is seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/buffers.h"
#include "collectives/schedule.h"
#include "kernels/data_type.h"
#include "src/cli/perf/operation.h"

namespace rondo::perf {

/// Elements after which all values repeat: prime, and no neighbour of a usual chunk's size but one.
inline constexpr std::size_t kPredictablePeriod = 8191;

/// The call whose data are wanted; fields as in rondo.h.
struct PredictableCall {
  Collective collective = Collective::kAllReduce;
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;  ///< reductions only
  int ranks = 1;
  int root = 0;           ///< where there is one
  std::size_t count = 0;  ///< as the call is given it
  std::uint64_t seed = 0;
  Form form = Form::kCollective;
  bool uneven = false;  ///< BlockSizes
};

/// How a buffer differs from what it should hold.
struct Mismatch {
  std::size_t wrong = 0;  ///< elements
  std::size_t first = 0;  ///< index of the first of them
};

/// Inputs and expected outputs of all ranks of one call.
/// @threads const members from any number of threads.
class PredictableData {
 public:
  explicit PredictableData(const PredictableCall& call);

  /// Elements that `rank` passes in; 0 where its send buffer is not looked at.
  std::size_t inputElems(int rank) const;

  /// Elements that `rank` gets; 0 where its recv buffer is not looked at.
  std::size_t outputElems(int rank) const;

  /// Fills the send buffer of `rank`.
  /// @param to inputElems(rank) elements, of any alignment
  void writeInput(int rank, std::span<std::byte> to) const;

  /// Writes what `rank` must get.
  /// @param to outputElems(rank) elements, of any alignment
  void writeExpected(int rank, std::span<std::byte> to) const;

  /// Compares a send buffer with what writeInput() put there.
  Mismatch checkInput(int rank, std::span<const std::byte> input) const;

  /// Compares a recv buffer with what it must hold after the call.
  Mismatch checkOutput(int rank, std::span<const std::byte> output) const;

  /// Premulsum: one element of the call's type, the factor of `rank`.
  /// @param to elementBytes(type) bytes
  void writeScale(int rank, std::span<std::byte> to) const;

 private:
  using Table = std::vector<std::byte>;  // one period

  /// `elems` elements that begin at index `first` of the endless repetition of `table`.
  struct Piece {
    const Table* table = nullptr;
    std::size_t first = 0;
    std::size_t elems = 0;
  };

  Piece inputPiece(int rank) const;
  std::vector<Piece> outputPieces(int rank) const;

  BlockSizes blocks() const { return {call_.count, call_.uneven}; }

  std::size_t elemsIn(Extent extent, int rank, int root) const;
  /// The block that every rank has for `rank`, all of which have as many elements.
  std::vector<Piece> pieceOfEach(int rank) const;
  /// The block of every rank that is its own.
  std::vector<Piece> ownPieceOfEach() const;
  void write(std::span<const Piece> pieces, std::span<std::byte> to) const;
  Mismatch check(std::span<const Piece> pieces, std::span<const std::byte> found) const;

  PredictableCall call_;
  std::size_t elemBytes_;
  std::vector<Table> inputs_;  // by rank
  Table reduced_;              // reductions only
};

}  // namespace rondo::perf
