// What of a pass's gradients is ready: marks are counted, wrong ones refused, missing ones named.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rondo/rondo.hpp"

namespace rondo::train {

/// How a tensor stands in the current pass.
enum class Mark : std::uint8_t {
  kReady,        ///< marked as often as it is used; or not now, but in an earlier pass of a window
  kUnused,       ///< said to be
  kNeverMarked,  ///< a mistake if it stays so
  kPartlyMarked  ///< so, too
};

/// A tensor to be marked.
struct MarkedTensor {
  std::string name;
  int uses = 1;
};

/// @threads one at a time
class MarkLedger {
 public:
  /// @param what begins messages, e.g. "gradients"
  MarkLedger(std::string what, std::vector<MarkedTensor> tensors, int rank);

  std::size_t size() const { return tensors_.size(); }

  std::uint64_t pass() const { return pass_; }

  /// Of all tensors.
  std::vector<std::string> names() const;

  /// Notes a use. True if it was the last one of the tensor in this pass.
  /// @errors thrown, InvalidUsage: it had no use left, or was said to be unused.
  bool markReady(std::size_t tensor);

  /// @errors thrown, InvalidUsage: it was marked.
  void markUnused(std::size_t tensor);

  Mark of(std::size_t tensor) const;

  /// Whether all uses were marked in this very pass.
  bool completeNow(std::size_t tensor) const;

  /// Whether any pass since the last synchronized one, this one included, has added to it.
  bool contributes(std::size_t tensor) const;

  /// Begins the next pass; what was marked counts on if this one was not synchronized.
  void endPass(bool synchronized);

  /// Whether a rank lacks marks that it should have made. Collective; the same on all ranks.
  bool anyMissing(const Communicator& comm) const;

  /// Names all that is missing, on all ranks. Collective; before endPass().
  std::string describeMissing(const Communicator& comm) const;

 private:
  struct State {
    int marks = 0;
    bool unused = false;
    bool touched = false;  // in an earlier pass of the window
  };

  Error wrongMark(std::size_t tensor, const std::string& what) const;

  const std::string what_;
  const std::vector<MarkedTensor> tensors_;
  const int rank_;
  std::vector<State> states_;
  std::uint64_t pass_ = 0;
};

}  // namespace rondo::train
