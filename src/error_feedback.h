// What compression has rounded away, kept from call to call: behind the handles of
// rondoErrorFeedbackCreate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "kernels/host/lane.h"
#include "src/cuda/device.h"
#include "src/fork_mark.h"
#include "src/status.h"

namespace rondo {

/// What residuals belong to: those of one call mean nothing to another one that differs in any of
/// these.
struct FeedbackShape {
  std::uint64_t collective = 0;
  std::uint64_t op = 0;
  std::uint64_t codec = 0;
  std::uint64_t blockElems = 0;
  std::uint64_t tensorsHash = 0;
  std::uint64_t count = 0;
  std::uint64_t ranks = 0;
  std::uint64_t rank = 0;
  std::uint64_t plan = 0;           ///< Plan::geometryHash(): which elements the rank adds up
  std::uint64_t contributions = 0;  ///< elements that the rank contributes
  std::uint64_t results = 0;        ///< elements that it adds up and encodes

  friend bool operator==(const FeedbackShape&, const FeedbackShape&) = default;
};

/// @threads any; one call at a time uses it
class ErrorFeedback {
 public:
  /// The residuals, had by one call until it is over.
  class Use {
   public:
    Use() = default;
    Use(Use&& other) noexcept;
    Use& operator=(Use&& other) noexcept;
    /// Without finish(), as when the call has failed, the residuals become zero.
    ~Use();

    host::Residuals residuals() const;

    /// The same in memory of `device`, where they are then until somebody else wants them.
    /// @errors OutOfMemory, SystemError
    Result<host::Residuals> onDevice(const cuda::Device& device);

    /// The call has succeeded. Nothing where there is no feedback.
    /// @param nonFinite its result was not finite: the residuals become zero
    /// @return whether they have become so, by this or because the call before had another shape
    bool finish(bool nonFinite);

   private:
    friend class ErrorFeedback;

    Use(std::shared_ptr<ErrorFeedback> feedback, bool reset)
        : feedback_(std::move(feedback)), reset_(reset) {}

    std::shared_ptr<ErrorFeedback> feedback_;  // null: nothing to give back
    bool reset_ = false;
  };

  /// Takes `feedback` for a call of that shape; zeros, if the last one had another.
  /// @param onDevice the call wants them by Use::onDevice(), else by Use::residuals()
  /// @errors InvalidUsage (another call has it), SystemError (they cannot be had from a device)
  static Result<Use> use(std::shared_ptr<ErrorFeedback> feedback,
                         const FeedbackShape& shape,
                         bool onDevice = false);

  /// @errors InvalidUsage: a call has it
  Status checkUnused() const;

  /// @errors InvalidUsage: a call has it
  Status reset();

  /// What save() writes, in bytes.
  /// @errors InvalidUsage: a call has it
  Result<std::size_t> savedBytes() const;

  /// @return the bytes written
  /// @errors InvalidArgument (`to` is too small), InvalidUsage (a call has it)
  Result<std::size_t> save(std::span<std::byte> to);

  /// Takes over what save() wrote; changes nothing if it fails.
  /// @errors InvalidArgument (no such bytes, of another version, or changed), InvalidUsage
  Status load(std::span<const std::byte> from);

  /// False in a process that was forked off since.
  bool inOwnProcess() const { return forkMark_.inOwnProcess(); }

 private:
  Status checkFree() const;
  Result<host::Residuals> moveTo(const cuda::Device& device);
  host::Residuals residualsOnDevice() const;
  Status moveToHost();
  void clear();
  void giveBack(bool reset);

  const ForkMark forkMark_;
  mutable std::mutex mutex_;  // guards the rest; residuals in use are their call's
  bool used_ = false;
  bool shaped_ = false;  // false: fits any call
  FeedbackShape shape_;
  std::vector<float> contribution_;
  std::vector<float> result_;
  cuda::Memory memory_;    // both, one behind the other; empty: on no device so far
  bool onDevice_ = false;  // what counts is there
};

}  // namespace rondo
