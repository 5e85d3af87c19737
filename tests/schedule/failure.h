// What can be wrong with a schedule, by name, and how the verifier reports it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>

namespace rondo::verifier {

/// Causes of failure. `kNone` is success.
enum class Failure : std::uint8_t {
  kNone,
  kDeadlock,          ///< no rank can run its next step
  kTablesDisagree,    ///< the peer tables of both ends do not match, or name nobody
  kUnusedPeer,        ///< no step uses an entry of a peer table
  kPeerRange,         ///< a step names entries outside the peer table
  kSlotTooLarge,      ///< more elements than a slot holds
  kSlotLength,        ///< a slot does not hold as many elements as its receiver expects
  kSlotMissing,       ///< a slot was read that is not full, or whose data are not there yet
  kSlotOverwritten,   ///< a slot was written again before it was read
  kSlotOverrun,       ///< a slot was posted while all were full
  kForeignSlot,       ///< a slot of another call was received
  kWireMismatch,      ///< written in one wire form, read in another
  kLeftoverSlots,     ///< full slots remain after the last call
  kOutOfRange,        ///< an offset beyond the end of a buffer
  kOutsideShare,      ///< elements of another channel were touched
  kForbiddenBuffer,   ///< a buffer that may be null on this rank was touched
  kUnwrittenRead,     ///< output or scratch read before it was written
  kInputOverwritten,  ///< input read after an in-place output was stored over it
  kInPlaceOverlap,    ///< one step reads what it overwrites at another element
  kDoubleWrite,       ///< an output element was stored twice
  kNoSource,          ///< a step with elements but nothing to take them from
  kOwnPosition,       ///< the own contribution's place is beyond the received ones
  kFoldInMove,        ///< an operation that only moves data combines it
  kMixedElements,     ///< a fold combines different elements
  kCountedTwice,      ///< a fold counts a rank's contribution twice
  kLastOnPartial,     ///< `last` on a sum that is not complete
  kLastRepeated,      ///< a finished result is combined or finished again
  kLastMissing,       ///< a result to which `last` was not applied
  kMissingOutput,     ///< an output element was never stored
  kWrongElement,      ///< an output element holds another element
  kIncomplete,        ///< a result lacks contributions
  kWrongOrder,        ///< all contributions, added or rounded otherwise than promised
  kBarrierPassed,     ///< a rank left a barrier that somebody had not entered
  kPayloadChanged,    ///< a payload that was left in a buffer was read when it had changed
  kPayloadGone,       ///< ... when the sender's call was over
  kCost,              ///< cost() differs from what was counted
  kNoExpectation,     ///< the verifier does not know the order that this algorithm promises
};

inline constexpr std::string_view kFailureNames[] = {"none",
                                                     "deadlock",
                                                     "tables disagree",
                                                     "unused peer",
                                                     "peer range",
                                                     "slot too large",
                                                     "slot length",
                                                     "slot missing",
                                                     "slot overwritten",
                                                     "slot overrun",
                                                     "foreign slot",
                                                     "wire mismatch",
                                                     "leftover slots",
                                                     "out of range",
                                                     "outside share",
                                                     "forbidden buffer",
                                                     "unwritten read",
                                                     "input overwritten",
                                                     "in-place overlap",
                                                     "double write",
                                                     "no source",
                                                     "own position",
                                                     "fold in move",
                                                     "mixed elements",
                                                     "counted twice",
                                                     "last on partial",
                                                     "last repeated",
                                                     "last missing",
                                                     "missing output",
                                                     "wrong element",
                                                     "incomplete",
                                                     "wrong order",
                                                     "barrier passed",
                                                     "payload changed",
                                                     "payload gone",
                                                     "cost",
                                                     "no expectation"};
static_assert(std::size(kFailureNames) == static_cast<std::size_t>(Failure::kNoExpectation) + 1);

constexpr std::string_view failureName(Failure failure) {
  return kFailureNames[static_cast<std::size_t>(failure)];
}

/// The first thing that went wrong in a run.
struct Violation {
  Failure kind = Failure::kNone;
  int rank = 0;
  std::size_t call = 0;  ///< index in the sequence of calls
  std::size_t step = 0;  ///< index in the rank's schedule
  std::string cause;

  std::string text() const {
    std::ostringstream out;
    out << failureName(kind) << ": rank " << rank << " call " << call << " step " << step << ": "
        << cause;
    return out.str();
  }
};

/// All arguments as one string.
template <class... Parts>
std::string joined(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

}  // namespace rondo::verifier
