// Runs lanes of compressed collectives in a kernel: one block per lane, one step at a time. The
// device's twin of kernels/host/coded_lane.cc, with the same bits. One kernel serves all codecs and
// types, so that those of other collectives (kernels/cuda/executor.h) know nothing of codes.
//
// Warps share out the blocks of a step. A code is made in a register, from which it goes into all
// slots that it is sent in, and is decoded again where its value is wanted on this rank; so nothing
// is read back. Only sums of blocks with a scale wait in memory, until their peak is known.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/all_gather/direct.h"
#include "collectives/all_reduce/two_shot.h"
#include "collectives/coded.h"
#include "collectives/reduce_scatter/direct.h"
#include "kernels/cuda/coded_launch.h"
#include "kernels/cuda/coding.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/lane_entries.h"
#include "kernels/cuda/waiting.h"

namespace rondo::device {

/// A block's shared memory: the largest magnitude that each of its threads has seen.
struct CodedBlockState {
  std::uint32_t peaks[kBlockThreads];
};

/// One lane being run by a block, which is whole warps.
class CodedRunner {
 public:
  RONDO_DEVICE CodedRunner(const LaunchArgs& args, const RankWork& work, const Lane& lane)
      : args_(args),
        work_(work),
        lane_(lane),
        coded_(*reinterpret_cast<const CodedLane*>(lane.scratch)),
        block_(*reinterpret_cast<CodedBlockState*>(sharedMemory())),
        wait_(work, *lane.report) {}

  /// All threads of the block: all steps of the lane's schedule. Says in the report if it failed.
  RONDO_DEVICE void run() {
    visitCoded([this](const auto& schedule) { walk(schedule); });
    const bool nonFinite = syncBlockAny(nonFinite_);
    if (!failed_ && threadIndex() == 0) *coded_.nonFinite = nonFinite ? 1 : 0;
  }

 private:
  /// The blocks of one step.
  struct Run {
    std::size_t first = 0;
    std::size_t blocks = 0;
    Span elems;  ///< of the buffer with the most elements
  };

  /// One block of a run, as the threads of a warp see it.
  struct Part {
    std::size_t index = 0;  ///< in the run
    Span span;              ///< of the buffer with the most elements; empty: there is none
  };

  /// Calls `visitor(schedule)`: of the three that codes travel by (collectives/coded.h).
  template <class Visitor>
  RONDO_DEVICE void visitCoded(Visitor&& visitor) {
    switch (coded_.collective) {
      case Collective::kAllReduce:
        return visitor(AllReduceTwoShot(lane_.schedule));
      case Collective::kReduceScatter:
        return visitor(ReduceScatterDirect(lane_.schedule));
      default:
        return visitor(AllGatherDirect(lane_.schedule));
    }
  }

  template <class S>
  RONDO_DEVICE void walk(const S& schedule) {
    const std::size_t size = schedule.size();
    for (std::size_t index = 0; index < size && !failed_; ++index)
      runStep(schedule.step(index));
    if (coded_.collective == Collective::kReduceScatter && size > 0 && !failed_)
      exchangeVerdict(schedule.everyone());
  }

  RONDO_DEVICE_OUTLINE void runStep(const Step& step) {
    const std::size_t first = firstCodedBlock(coded_.collective, step);
    const Run run{first, step.elems, coded_.map.elemsOf(first, step.elems)};
    const std::size_t bytes = encodedBytes(coded_.codec, run.blocks, run.elems.elems);
    await(step.send, step.recv, bytes);
    if (giveUp(step.recv, bytes)) return;
    // All threads go round equally often, since they meet.
    const unsigned warps = blockThreads() / kWarpThreads;
    for (std::size_t at = 0; at < run.blocks; at += warps) {
      const std::size_t index = at + threadIndex() / kWarpThreads;
      const bool there = index < run.blocks;
      runPart(step, run, {index, there ? coded_.map.block(run.first + index) : Span{}});
    }
    if (step.last) resultsDone_ += run.elems.elems;
    syncBlock();
    pass(step.send, step.recv, bytes);
  }

  /// Tells all others whether some result of this rank is not finite, and learns it of theirs.
  RONDO_DEVICE_OUTLINE void exchangeVerdict(PeerRange everyone) {
    constexpr std::size_t kVerdictBytes = 1;
    const bool own = syncBlockAny(nonFinite_);
    await(everyone, {}, kVerdictBytes);
    if (giveUp({}, kVerdictBytes)) return;
    for (int i = firstOf(everyone); i < everyone.count; i += threads())
      *slotOf(*lane_.send[everyone.first + i]) = std::byte{own};
    pass(everyone, {}, kVerdictBytes);
    await({}, everyone, kVerdictBytes);
    if (giveUp(everyone, kVerdictBytes)) return;
    for (int i = firstOf(everyone); i < everyone.count; i += threads())
      nonFinite_ |= *slotOf(*lane_.recv[everyone.first + i]) != std::byte{0};
    pass({}, everyone, kVerdictBytes);
  }

  // Slots.

  static RONDO_DEVICE std::byte* slotOf(const End& end) {
    return end.slots + end.slotIndex() * end.slotBytes;
  }

  /// Waits for the calling thread's entries: full slots to read, and free ones to fill.
  RONDO_DEVICE void await(const PeerRange& send, const PeerRange& recv, std::size_t bytes) {
    for (int i = firstOf(recv); i < recv.count; i += threads()) {
      const End& end = *lane_.recv[recv.first + i];
      wait_.waitFor(end.peer, true);
      if (!awaitCounter(*end.tail, end.position + 1, wait_)) return;
      mismatch_ |= !fits(end.entries[end.slotIndex()], bytes);
    }
    for (int i = firstOf(send); i < send.count; i += threads()) {
      const End& end = *lane_.send[send.first + i];
      wait_.waitFor(end.peer, false);
      if (end.position < end.slotCount) continue;
      if (!awaitCounter(*end.head, end.position - end.slotCount + 1, wait_)) return;
    }
  }

  RONDO_DEVICE bool fits(const SlotEntry& entry, std::size_t bytes) const {
    return entry.call == work_.call && entry.bytes == bytes;
  }

  /// Hands the filled slots over, and gives the others back.
  RONDO_DEVICE void pass(const PeerRange& send, const PeerRange& recv, std::size_t bytes) {
    for (int i = firstOf(send); i < send.count; i += threads()) {
      End& end = *lane_.send[send.first + i];
      end.entries[end.slotIndex()] = {bytes, work_.call};
      end.pass(Protocol::kStaged);
      postCounter(*end.tail, end.position);
    }
    for (int i = firstOf(recv); i < recv.count; i += threads()) {
      End& end = *lane_.recv[recv.first + i];
      end.pass(Protocol::kStaged);
      postCounter(*end.head, end.position);
    }
  }

  // Elements.

  /// All threads of the block, each warp with a part of its own: what `step` does to one block.
  RONDO_DEVICE void runPart(const Step& step, const Run& run, const Part& part) {
    if (step.last) {
      addUp(step, run, part);
    } else if (step.own == Source::kInput) {
      contribute(step, run, part);
    } else {
      gather(step, run, part);
    }
  }

  /// Calls `use(at)` for each of the calling thread's elements of the block.
  template <class Use>
  static RONDO_DEVICE void forElements(const Part& part, Use use) {
    for (std::size_t at = threadIndex() % kWarpThreads; at < part.span.elems; at += kWarpThreads)
      use(at);
  }

  RONDO_DEVICE bool scales() const { return coded_.codec == Codec::kInt8; }

  /// All threads of the block: the scale of the warp's block.
  /// @param valueAt of an element
  template <class ValueAt>
  RONDO_DEVICE Int8Codec::Scale scaleOf(const Part& part, bool& finite, ValueAt valueAt) {
    finite = true;
    if (!scales()) return {};
    std::uint32_t peak = 0;
    forElements(part, [&](std::size_t at) {
      const std::uint32_t magnitude = magnitudeBits(valueAt(at));
      peak = magnitude > peak ? magnitude : peak;
    });
    block_.peaks[threadIndex()] = peak;
    syncBlock();
    const unsigned first = threadIndex() / kWarpThreads * kWarpThreads;
    for (unsigned lane = 0; lane < kWarpThreads; ++lane) {
      const std::uint32_t other = block_.peaks[first + lane];
      peak = other > peak ? other : peak;
    }
    syncBlock();  // the next peaks are written there
    finite = Int8Codec::isFinite(peak);
    return Int8Codec::scaleOf(peak);
  }

  /// The calling thread's element of the own input, with what is still due of it.
  RONDO_DEVICE float inputAt(const Part& part, std::size_t at) const {
    const std::size_t place = part.span.offset - coded_.inputOrigin + at;
    const float value = loadFloat(coded_.type, work_.input, place);
    const float* const residuals = coded_.contributionResiduals;
    return residuals != nullptr ? value + residuals[place] : value;
  }

  /// Encodes element `at` of the own input, and keeps what that loses.
  /// @param decoded receives what the code stands for
  RONDO_DEVICE std::uint16_t encodeInput(const Part& part,
                                         std::size_t at,
                                         const Int8Codec::Scale& scale,
                                         bool finite,
                                         float& decoded) {
    const float value = inputAt(part, at);
    const std::uint16_t code = encodeElement(coded_.codec, value, scale.inverse, finite);
    decoded = decodeElement(coded_.codec, code, scale.scale);
    if (coded_.contributionResiduals != nullptr)
      coded_.contributionResiduals[part.span.offset - coded_.inputOrigin + at] = value - decoded;
    return code;
  }

  /// Element `at` of the block as a slot holds it.
  RONDO_DEVICE float decodedAt(const std::byte* slot,
                               const Run& run,
                               const Part& part,
                               std::size_t at) const {
    const std::byte* const code = slot + codePlace(run, part, at);
    if (codeBytes(coded_.codec) == 2)
      return decodeElement(coded_.codec, *reinterpret_cast<const std::uint16_t*>(code), 0);
    const float scale = scales() ? reinterpret_cast<const float*>(slot)[part.index] : 0;
    return decodeElement(coded_.codec, static_cast<std::uint8_t>(*code), scale);
  }

  RONDO_DEVICE std::size_t codePlace(const Run& run, const Part& part, std::size_t at) const {
    return codeOffset(coded_.codec, run.blocks, part.span.offset - run.elems.offset + at);
  }

  RONDO_DEVICE void sendCode(
      const Step& step, const Run& run, const Part& part, std::size_t at, std::uint16_t code) {
    const std::size_t place = codePlace(run, part, at);
    for (int i = 0; i < step.send.count; ++i) {
      std::byte* const to = slotOf(*lane_.send[step.send.first + i]) + place;
      if (codeBytes(coded_.codec) == 2) {
        *reinterpret_cast<std::uint16_t*>(to) = code;
      } else {
        *to = static_cast<std::byte>(code);
      }
    }
  }

  /// By one thread of the warp.
  RONDO_DEVICE void sendScale(const Step& step, const Part& part, float scale) {
    if (!scales() || part.span.elems == 0 || threadIndex() % kWarpThreads != 0) return;
    for (int i = 0; i < step.send.count; ++i)
      reinterpret_cast<float*>(slotOf(*lane_.send[step.send.first + i]))[part.index] = scale;
  }

  RONDO_DEVICE void toOutput(const Part& part, std::size_t at, float value) {
    const std::size_t place = part.span.offset - coded_.outputOrigin + at;
    nonFinite_ |= storeFloat(coded_.type, value, work_.output, place);
  }

  /// Encodes the own input into slots, and stores what receivers make of it if that is wanted.
  RONDO_DEVICE_OUTLINE void contribute(const Step& step, const Run& run, const Part& part) {
    bool finite = true;
    const Int8Codec::Scale scale =
        scaleOf(part, finite, [&](std::size_t at) { return inputAt(part, at); });
    forElements(part, [&](std::size_t at) {
      float decoded = 0;
      const std::uint16_t code = encodeInput(part, at, scale, finite, decoded);
      sendCode(step, run, part, at, code);
      if (step.to == Sink::kOutput) toOutput(part, at, decoded);
    });
    sendScale(step, part, scale.scale);
  }

  RONDO_DEVICE_OUTLINE void gather(const Step& step, const Run& run, const Part& part) {
    if (step.recv.count == 0) return;
    const std::byte* const slot = slotOf(*lane_.recv[step.recv.first]);
    forElements(part, [&](std::size_t at) { toOutput(part, at, decodedAt(slot, run, part, at)); });
  }

  /// Adds all contributions up in the order of the ranks; an all-reduce sends the sum, encoded.
  RONDO_DEVICE_OUTLINE void addUp(const Step& step, const Run& run, const Part& part) {
    const std::size_t inRun = part.span.offset - run.elems.offset;
    float* const sums = coded_.sums + inRun;
    float* const residuals =
        coded_.resultResiduals != nullptr ? coded_.resultResiduals + resultsDone_ + inRun : nullptr;
    bool finite = true;
    const Int8Codec::Scale own =
        scaleOf(part, finite, [&](std::size_t at) { return inputAt(part, at); });
    forElements(part, [&](std::size_t at) {
      float decoded = 0;
      (void)encodeInput(part, at, own, finite, decoded);
      const float sum = sumAt(step, run, part, at, decoded);
      if (coded_.collective == Collective::kAllReduce) {
        sums[at] = residuals != nullptr ? sum + residuals[at] : sum;
      } else {
        toOutput(part, at, sum);
      }
    });
    if (coded_.collective != Collective::kAllReduce) return;
    const Int8Codec::Scale scale = scaleOf(part, finite, [&](std::size_t at) { return sums[at]; });
    forElements(part, [&](std::size_t at) {
      const std::uint16_t code = encodeElement(coded_.codec, sums[at], scale.inverse, finite);
      const float decoded = decodeElement(coded_.codec, code, scale.scale);
      sendCode(step, run, part, at, code);
      if (residuals != nullptr) residuals[at] = sums[at] - decoded;
      toOutput(part, at, decoded);
    });
    sendScale(step, part, scale.scale);
  }

  /// @param own what is decoded of this rank's contribution
  RONDO_DEVICE float sumAt(
      const Step& step, const Run& run, const Part& part, std::size_t at, float own) const {
    float sum = 0;
    for (int i = 0; i <= step.recv.count; ++i) {
      if (i == step.ownPosition) sum = i == 0 ? own : sum + own;
      if (i == step.recv.count) break;
      const float value = decodedAt(slotOf(*lane_.recv[step.recv.first + i]), run, part, at);
      sum = i == 0 && step.ownPosition != 0 ? value : sum + value;
    }
    const auto divisor = static_cast<float>(args_.arithmetic.divisor);
    return divisor > 0 ? sum / divisor : sum;
  }

  /// All threads of the block.
  RONDO_DEVICE bool giveUp(const PeerRange& recv, std::size_t bytes) {
    failed_ = anyGaveUp(lane_, recv, mismatch_, wait_.givenUp(),
                        [&](const SlotEntry& entry) { return fits(entry, bytes); });
    return failed_;
  }

  const LaunchArgs& args_;
  const RankWork& work_;
  const Lane& lane_;
  const CodedLane& coded_;
  CodedBlockState& block_;
  Wait wait_;
  std::size_t resultsDone_ = 0;  ///< elements that were added up so far
  bool mismatch_ = false;        ///< found by this thread
  bool failed_ = false;          ///< the same on all threads of the block
  bool nonFinite_ = false;       ///< of what this thread has stored, or was told
};

/// The body of the kernel of compressed collectives: this block's lane of the launch.
RONDO_DEVICE void runCoded(const LaunchArgs& args) {
  const int block = static_cast<int>(blockIndex());
  const RankWork& work = args.ranks[block / args.channels];
  CodedRunner(args, work, work.lanes[block % args.channels]).run();
}

}  // namespace rondo::device
