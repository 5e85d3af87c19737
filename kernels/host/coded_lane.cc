#include "kernels/host/coded_lane.h"

#include <cstring>
#include <type_traits>
#include <utility>

#include "collectives/all_gather/direct.h"
#include "collectives/coded.h"
#include "collectives/reduce_scatter/direct.h"
#include "kernels/host/streamed_copy.h"
#include "kernels/memory_order.h"

namespace rondo::host {

namespace {

// The verdict's tables are those of the schedule before it.
static_assert(std::is_base_of_v<AllPeers, ReduceScatterDirect> &&
              std::is_base_of_v<AllPeers, AllGatherDirect>);

/// Bytes of a verdict in a slot: 1 if some result is not finite, else 0.
constexpr std::size_t kVerdictBytes = 1;

constexpr AlgorithmId kVerdictAlgorithm =
    findAlgorithm(Collective::kAllGather, AllGatherDirect::kInfo.name).value();

/// Every rank tells all others a word.
AnySchedule verdictSchedule(const CodedOperation& operation) {
  ScheduleArgs args;
  args.rank = operation.rank;
  args.ranks = operation.ranks;
  args.layout = args.outputLayout = Layout(1);
  args.share = {0, 1};
  return {kVerdictAlgorithm, args};
}

}  // namespace

CodedLane::CodedLane(const CodedOperation& operation,
                     const AnySchedule& schedule,
                     std::size_t mostBlocks,
                     std::size_t firstResult,
                     std::vector<SendEnd*> send,
                     std::vector<RecvEnd*> recv)
    : operation_(operation),
      schedule_(schedule),
      size_(schedule.size()),
      verdict_(verdictSchedule(operation)),
      verdictSize_(operation.collective == Collective::kReduceScatter && size_ > 0 ? verdict_.size()
                                                                                   : 0),
      ends_(std::move(send), std::move(recv)),
      firstResult_(firstResult) {
  const std::size_t blockElems = operation.blocks->blockElems();
  const Codec codec = operation.coder.codec();
  ownRun_.resize(encodedBytes(codec, mostBlocks, mostBlocks * blockElems));
  ownBlock_.resize(encodedBytes(codec, 1, blockElems));
  for (std::vector<float>* floats : {&values_, &decoded_, &sums_})
    floats->resize(blockElems);
  streams_.resize(ends_.sendCount());
  results_ = countResults();
}

std::size_t CodedLane::countResults() const {
  if (operation_.collective != Collective::kAllReduce) return 0;
  std::size_t elems = 0;
  for (std::size_t index = 0; index < size_; ++index) {
    const Step step = schedule_.step(index);
    if (step.last) elems += runOf(step).elems.elems;
  }
  return elems;
}

void CodedLane::restart() {
  next_ = 0;
  resultsDone_ = 0;
  outcome_ = {};
}

Step CodedLane::nextStep() const {
  return inVerdict() ? verdict_.step(next_ - size_) : schedule_.step(next_);
}

CodedLane::Run CodedLane::runOf(const Step& step) const {
  const std::size_t first = firstCodedBlock(operation_.collective, step);
  return {first, step.elems, operation_.blocks->elemsOf(first, step.elems)};
}

SlotEntry CodedLane::slotOf(const Run& run, const Work& work) const {
  if (inVerdict()) return {kVerdictBytes, work.call};
  return {encodedBytes(operation_.coder.codec(), run.blocks, run.elems.elems), work.call};
}

StepResult CodedLane::tryStep(const Work& work) {
  if (next_ == end()) return StepResult::kFinished;
  const Step step = nextStep();
  if (!ends_.ready(step)) return StepResult::kNotReady;
  const Run run = runOf(step);
  const SlotEntry slot = slotOf(run, work);
  if (!ends_.match(step, slot)) return StepResult::kMismatch;
  if (inVerdict()) {
    exchangeVerdict(step);
  } else if (step.elems > 0) {
    runStep(step, run, work);
  }
  outcome_.wireBytes += slot.bytes * static_cast<std::uint64_t>(step.send.count);
  ends_.pass(step, slot);
  ++next_;
  return StepResult::kRan;
}

Blocked CodedLane::blockedOn(const Work& work) {
  if (next_ == end()) return {};
  const Step step = nextStep();
  return ends_.blockedOn(step, slotOf(runOf(step), work));
}

void CodedLane::exchangeVerdict(const Step& step) {
  for (int i = 0; i < step.send.count; ++i)
    *ends_.send(step, i).slot() = std::byte{outcome_.nonFinite};
  for (int i = 0; i < step.recv.count; ++i)
    outcome_.nonFinite |= *ends_.recv(step, i).slot() != std::byte{0};
}

void CodedLane::runStep(const Step& step, const Run& run, const Work& work) {
  const SlotEntry slot = slotOf(run, work);
  run_ = placeRun(step, slot.bytes);
  BlockMap::Walk walk(*operation_.blocks, run.first);
  for (std::size_t index = 0; index < run.blocks; ++index, walk.next()) {
    const Span block = walk.span();
    if (step.last) {
      addUp(step, run, index, block, work);
    } else if (step.own == Source::kInput) {
      encodeContribution(block, spaceIn(run_, run, index, block), work);
      if (step.to == Sink::kOutput) decodeToOutput(blockIn(run_, run, index, block), block, work);
    } else {
      decodeToOutput(blockIn(ends_.recv(step, 0).slot(), run, index, block), block, work);
    }
  }
  spreadRun(step, slot.bytes);
  const auto receivers = static_cast<std::uint64_t>(step.send.count);
  outcome_.plainBytes += run.elems.elems * operation_.form.elemBytes() * receivers;
}

std::byte* CodedLane::placeRun(const Step& step, std::size_t bytes) {
  std::byte* place = nullptr;
  for (int i = 0; i < step.send.count; ++i) {
    SendEnd& end = ends_.send(step, i);
    const bool streams = end.wantsStreamedStores(bytes);
    streams_[static_cast<std::size_t>(i)] = streams;
    if (!streams && place == nullptr) place = end.slot();
  }
  return place != nullptr ? place : ownRun_.data();
}

void CodedLane::spreadRun(const Step& step, std::size_t bytes) {
  bool streamed = false;
  for (int i = 0; i < step.send.count; ++i) {
    std::byte* const slot = ends_.send(step, i).slot();
    if (streams_[static_cast<std::size_t>(i)]) {
      streamedCopy(slot, run_, bytes);
      streamed = true;
    } else if (slot != run_) {
      std::memcpy(slot, run_, bytes);
    }
  }
  if (streamed) fenceStreamedStores();
}

void CodedLane::encodeContribution(const Span& block, BlockSpace to, const Work& work) {
  const FloatForm& form = operation_.form;
  const std::size_t place = block.offset - operation_.inputOrigin;
  const std::byte* const input = work.buffers.input + place * form.elemBytes();
  float* const residual =
      work.residuals.contribution != nullptr ? work.residuals.contribution + place : nullptr;
  if (form.isPlain() && residual == nullptr) {
    operation_.coder.encode(reinterpret_cast<const float*>(input), block.elems, to);
    return;
  }
  form.widen(input, block.elems, values_.data());
  if (residual != nullptr) addFloats(values_.data(), residual, block.elems, values_.data());
  operation_.coder.encode(values_.data(), block.elems, to);
  if (residual != nullptr) keepError(to, values_.data(), block.elems, residual);
}

/// What encoding `values` has lost.
void CodedLane::keepError(BlockSpace encoded,
                          const float* values,
                          std::size_t elems,
                          float* residual) {
  operation_.coder.decode({encoded.scale, encoded.codes}, elems, decoded_.data());
  subtractFloats(values, decoded_.data(), elems, residual);
}

void CodedLane::addUp(
    const Step& step, const Run& run, std::size_t index, const Span& block, const Work& work) {
  const BlockSpace own{ownBlock_.data(),
                       ownBlock_.data() + codeOffset(operation_.coder.codec(), 1, 0)};
  encodeContribution(block, own, work);
  bool first = true;
  const auto take = [&](EncodedBlock from) {
    if (first) {
      operation_.coder.decode(from, block.elems, sums_.data());
    } else {
      operation_.coder.addDecoded(from, block.elems, sums_.data());
    }
    first = false;
  };
  for (int i = 0; i <= step.recv.count; ++i) {
    if (i == step.ownPosition) take({own.scale, own.codes});
    if (i < step.recv.count) take(blockIn(ends_.recv(step, i).slot(), run, index, block));
  }
  if (operation_.divisor > 0) divideFloats(sums_.data(), block.elems, operation_.divisor);
  if (operation_.collective == Collective::kAllReduce) {
    encodeResult(block, spaceIn(run_, run, index, block), work);
    decodeToOutput(blockIn(run_, run, index, block), block, work);
  } else {
    storeResult(block, work);
  }
}

void CodedLane::encodeResult(const Span& block, BlockSpace to, const Work& work) {
  float* residual = work.residuals.result;
  if (residual != nullptr) {
    residual += firstResult_ + resultsDone_;
    addFloats(sums_.data(), residual, block.elems, sums_.data());
  }
  operation_.coder.encode(sums_.data(), block.elems, to);
  if (residual != nullptr) keepError(to, sums_.data(), block.elems, residual);
  resultsDone_ += block.elems;
}

void CodedLane::decodeToOutput(EncodedBlock from, const Span& block, const Work& work) {
  const FloatForm& form = operation_.form;
  std::byte* const output = outputOf(block, work);
  float* const values = form.isPlain() ? reinterpret_cast<float*>(output) : decoded_.data();
  operation_.coder.decode(from, block.elems, values);
  outcome_.nonFinite |= isNarrowFloat(form.type())
                            ? form.overflows(values, block.elems)
                            : operation_.coder.decodedNonFinite(from, values, block.elems);
  form.narrow(values, block.elems, output);
}

void CodedLane::storeResult(const Span& block, const Work& work) {
  const FloatForm& form = operation_.form;
  outcome_.nonFinite |= form.overflows(sums_.data(), block.elems);
  form.narrow(sums_.data(), block.elems, outputOf(block, work));
}

std::byte* CodedLane::outputOf(const Span& block, const Work& work) const {
  return work.buffers.output +
         (block.offset - operation_.outputOrigin) * operation_.form.elemBytes();
}

}  // namespace rondo::host
