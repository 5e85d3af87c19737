// One channel of one operation being run on host memory: a schedule, the connection ends its tables
// name, and how far it has come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "collectives/any_schedule.h"
#include "collectives/two_level/step_place.h"
#include "kernels/arithmetic.h"
#include "kernels/host/combine.h"
#include "transports/connection.h"

namespace rondo::host {

/// The caller's memory. Unused members are null.
struct Buffers {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
};

/// The arithmetic of one operation, and the code that does it.
struct Arithmetic {
  StepArithmetic rules;
  CombineFn combine = nullptr;  ///< null: the operation only moves data
  const void* scale = nullptr;  ///< premulsum: the factor of own input; else null
};

/// What error feedback adds to elements before they are encoded, and takes from what became of
/// them. Not owned; null: there is none.
struct Residuals {
  float* contribution = nullptr;  ///< one for each element of the input
  float* result = nullptr;        ///< one for each element that this rank adds up, as lanes count
};

/// What all lanes of one operation share.
struct Work {
  Buffers buffers;
  Arithmetic arithmetic;
  std::uint64_t call = 0;  ///< fingerprint that every received slot must carry
  /// The output is stored past the caches: it is too large to be found there again, and its lines
  /// need not be read before they are written.
  bool streamsOutput = false;
  /// Fewest bytes of a payload that stays where it is if the receiver can read it there; 0: all are
  /// copied into slots.
  std::size_t elsewhereBytes = 0;
  /// The same where an adapter reads it (SendEnd::adapterReads()).
  std::size_t adapterBytes = 0;
  /// Input that was sent stays as it is while a receiver may read it; see transports/memory_names.h
  bool inputStays = false;
  Residuals residuals;  ///< compressed operations only
};

enum class StepResult : std::uint8_t {
  kRan,
  kNotReady,  ///< a slot is missing; blockedOn() says whose
  kFinished,  ///< no step is left, and nobody reads the caller's buffers
  kMismatch,  ///< a slot belongs to another call or has another length; blockedOn() says whose
};

/// Whom a lane waits for.
struct Blocked {
  int peer = -1;
  bool receiving = true;  ///< waits for data of the peer; false: waits for the peer to take data
  /// Fingerprint that a full slot of the peer carries instead of this call's; 0: it has none.
  std::uint64_t otherCall = 0;
  int stage = -1;  ///< in which it waits, where an operation has several
};

/// @threads one at a time.
class Lane {
 public:
  /// Ends in the order of the schedule's tables; not owned.
  Lane(const AnySchedule& schedule,
       std::vector<SendEnd*> send,
       std::vector<RecvEnd*> recv,
       std::size_t scratchBytes);

  /// Goes back to the first step, for the next operation with the same plan.
  void restart() {
    next_ = 0;
    settled_ = true;
  }

  /// Goes to the first step of `schedule`, whose peer tables are those of the one before.
  /// @param place   of its buffers in those of the operation
  /// @param scratch of the operation; the schedule must do without one of its own. Not owned.
  void startStage(const AnySchedule& schedule, const StepPlace& place, std::byte* scratch);

  /// Runs the next step if it is ready. Allocates nothing, never blocks.
  StepResult tryStep(const Work& work);

  /// The peer that keeps the next step from running, after kNotReady or kMismatch.
  Blocked blockedOn(const Work& work);

  /// For an operation that has failed: takes back what peers could read of the caller's buffers.
  /// @param onReader called with each peer that reads there still; then ask again
  void withdraw(const std::function<void(int)>& onReader);

 private:
  /// What is folded or copied before it is streamed on: it stays in a first-level cache.
  static constexpr std::size_t kPieceBytes = 8192;

  /// How a payload gets to one receiver.
  enum class Way : std::uint8_t {
    kStored,
    kStreamed,  ///< stored past the caches
    kElsewhere  ///< it stays where it is
  };

  /// A payload that stays in the caller's buffers.
  struct Lasting {
    const std::byte* data = nullptr;    ///< null: it does not
    std::size_t fewestForPeers = 0;     ///< from how many bytes on receivers read it there; 0: none
    std::size_t fewestForAdapters = 0;  ///< likewise
  };

  /// What kernels/step_ready.h asks of the connections.
  struct Ends {
    std::vector<SendEnd*>& send;
    std::vector<RecvEnd*>& recv;

    bool sendSlotFree(int entry) { return send[static_cast<std::size_t>(entry)]->slotFree(); }

    bool recvSlotFull(int entry) { return recv[static_cast<std::size_t>(entry)]->slotFull(); }
  };

  Ends ends() { return {send_, recv_}; }

  SendEnd& sendEnd(const Step& step, int index) {
    return *send_[static_cast<std::size_t>(step.send.first + index)];
  }

  RecvEnd& recvEnd(const Step& step, int index) {
    return *recv_[static_cast<std::size_t>(step.recv.first + index)];
  }

  /// The next step; there must be one.
  Step nextStep() const {
    const Step step = schedule_.step(next_);
    return place_.has_value() ? place_->placed(step) : step;
  }

  std::byte* scratchAt(const Step& step, std::size_t row, std::size_t elemBytes) {
    std::byte* const start = place_.has_value() ? sharedScratch_ : ownScratch_.data();
    return start + step.scratchRow(row) * elemBytes;
  }

  bool slotMatches(const Step& step, int index, const Work& work);
  bool slotsMatch(const Step& step, const Work& work);
  bool beginReads(const Step& step);
  SendEnd* unsettledEnd();
  void runRow(const Step& step, std::size_t row, const Work& work);
  static Lasting lastingPayload(const Step& step, const Work& work);
  void chooseWays(const Step& step, const Work& work);
  void copyRow(std::size_t bytes);
  void foldRow(const Step& step, const Work& work);
  void bringStreamSourceToFront(Form form);
  void advance(std::size_t elems, const StepArithmetic& rules);
  void gatherOperands(const Step& step, std::size_t row, const Work& work);
  void gatherTargets(const Step& step, std::size_t row, const Work& work);
  Operand ownOperand(const Step& step, std::size_t row, const Work& work);
  void passSlots(const Step& step, const Work& work);

  AnySchedule schedule_;
  std::size_t size_;
  std::vector<SendEnd*> send_;
  std::vector<RecvEnd*> recv_;
  std::vector<std::byte> ownScratch_;
  std::optional<StepPlace> place_;      // of a stage of an operation
  std::byte* sharedScratch_ = nullptr;  // of that operation
  std::size_t next_ = 0;
  bool settled_ = true;  // whether nothing of this operation is elsewhere
  // Rebuilt by each row of each step; members so that running allocates nothing.
  std::vector<Operand> operands_;
  std::vector<Target> targets_;
  std::vector<void*> copies_;
  std::vector<std::byte*> streamed_;  // slots of this row that are stored past the caches
  std::vector<Way> ways_;             // by send end of this step
  std::vector<SlotPlace> places_;     // likewise; of those whose way is kElsewhere
  std::vector<std::byte> piece_;      // what is streamed and stored nowhere else
};

}  // namespace rondo::host
