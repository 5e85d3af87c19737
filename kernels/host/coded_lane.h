// One channel of one compressed operation being run on host memory: a schedule whose elements are
// blocks (collectives/coded.h). A lane encodes its contributions into the slots it
// sends, adds up in fp32 what it decodes from the slots it receives, and encodes complete sums into
// slots again: a block at a time, in the first-level cache, so that no pass over memory is added.
//
//     own input -- + residual --> encode --> slots                    a contribution
//     slots, own contribution --> decode, add by rank, divide
//         all-reduce:      + residual --> encode --> slots;  decode --> output
//         reduce-scatter:  --> output
//     slot --> decode --> output                                      a result of another rank
//
// In a reduce-scatter no rank sees the results of the others, so a second, small schedule follows,
// by which all learn whether some result was not finite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/any_schedule.h"
#include "kernels/host/block_coder.h"
#include "kernels/host/block_map.h"
#include "kernels/host/float_blocks.h"
#include "kernels/host/lane.h"
#include "kernels/host/lane_ends.h"

namespace rondo::host {

/// What all lanes of one compressed operation have in common.
struct CodedOperation {
  BlockCoder coder;
  FloatForm form;
  const BlockMap* blocks = nullptr;  ///< of the buffer with the most elements; not owned
  Collective collective = Collective::kAllReduce;
  int rank = 0;
  int ranks = 1;
  /// Elements of that buffer before the input's first one, and before the output's.
  std::size_t inputOrigin = 0;
  std::size_t outputOrigin = 0;
  float divisor = 0;  ///< avg: the number of ranks; else 0
};

/// What a lane has come to in one call.
struct CodingOutcome {
  std::uint64_t wireBytes = 0;   ///< put into slots for others
  std::uint64_t plainBytes = 0;  ///< the same elements as they are
  bool nonFinite = false;        ///< a result is infinite or NaN; the lanes of all ranks agree
};

/// @threads one at a time.
class CodedLane {
 public:
  /// @param schedule    in blocks
  /// @param mostBlocks  of one step
  /// @param firstResult elements that lanes before this one add up
  /// @param send, recv  in the order of the schedule's tables; not owned
  CodedLane(const CodedOperation& operation,
            const AnySchedule& schedule,
            std::size_t mostBlocks,
            std::size_t firstResult,
            std::vector<SendEnd*> send,
            std::vector<RecvEnd*> recv);

  /// Elements that this lane adds up, and sends on: for each there is a residual of the result.
  std::size_t results() const { return results_; }

  /// Goes back to the first step, for the next call.
  void restart();

  /// Runs the next step if it is ready. Allocates nothing, never blocks.
  /// Precondition: round-to-nearest and denormals on (FloatEnvironment).
  StepResult tryStep(const Work& work);

  /// The peer that keeps the next step from running, after kNotReady or kMismatch.
  Blocked blockedOn(const Work& work);

  const CodingOutcome& outcome() const { return outcome_; }

 private:
  /// The blocks of one step.
  struct Run {
    std::size_t first = 0;
    std::size_t blocks = 0;
    Span elems;  ///< of the buffer with the most elements
  };

  bool inVerdict() const { return next_ >= size_; }

  std::size_t end() const { return size_ + verdictSize_; }

  Step nextStep() const;
  Run runOf(const Step& step) const;
  SlotEntry slotOf(const Run& run, const Work& work) const;
  std::size_t countResults() const;
  void runStep(const Step& step, const Run& run, const Work& work);
  void exchangeVerdict(const Step& step);
  std::byte* placeRun(const Step& step, std::size_t bytes);
  void spreadRun(const Step& step, std::size_t bytes);
  void encodeContribution(const Span& block, BlockSpace to, const Work& work);
  void addUp(
      const Step& step, const Run& run, std::size_t index, const Span& block, const Work& work);
  void encodeResult(const Span& block, BlockSpace to, const Work& work);
  void decodeToOutput(EncodedBlock from, const Span& block, const Work& work);
  void storeResult(const Span& block, const Work& work);
  void keepError(BlockSpace encoded, const float* values, std::size_t elems, float* residual);
  std::byte* outputOf(const Span& block, const Work& work) const;

  BlockSpace spaceIn(std::byte* run, const Run& of, std::size_t index, const Span& block) const {
    return BlockSpace::in(run, operation_.coder.codec(), of.blocks, index,
                          block.offset - of.elems.offset);
  }

  EncodedBlock blockIn(const std::byte* run,
                       const Run& of,
                       std::size_t index,
                       const Span& block) const {
    return EncodedBlock::in(run, operation_.coder.codec(), of.blocks, index,
                            block.offset - of.elems.offset);
  }

  CodedOperation operation_;
  AnySchedule schedule_;
  std::size_t size_;
  AnySchedule verdict_;
  std::size_t verdictSize_;  // 0: there is none
  LaneEnds ends_;
  std::size_t firstResult_;
  std::size_t results_ = 0;
  std::size_t next_ = 0;
  std::size_t resultsDone_ = 0;
  CodingOutcome outcome_;
  // Of one step; members so that running allocates nothing.
  std::byte* run_ = nullptr;         // where the step encodes: a slot, or ownRun_
  std::vector<std::byte> ownRun_;    // where no slot is, or slots are stored past the caches
  std::vector<std::byte> ownBlock_;  // the own contribution to a sum
  std::vector<float> values_;        // a block before it is encoded,
  std::vector<float> decoded_;       // after it was decoded,
  std::vector<float> sums_;          // and added up
  std::vector<bool> streams_;        // by send end
};

}  // namespace rondo::host
