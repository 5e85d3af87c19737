// Makes the call of a case through the C interface, as any program would.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "rondo/rondo.h"
#include "src/cli/perf/case.h"
#include "src/cli/perf/predictable.h"
#include "src/status.h"

namespace rondo::perf {

/// A failed call of the C interface as a Status with its full message.
Status statusOf(rondoResult_t result, rondoComm_t comm);

/// One rank's end of one case. Owns the reduction that premulsum needs.
/// @threads as the communicator's
class CollectiveCaller {
 public:
  /// @param factor premulsum only: one element of the case's type
  /// @errors those of rondoRedOpCreatePreMulSum
  static Result<CollectiveCaller> create(const Case& what,
                                         std::span<const std::byte> factor,
                                         rondoComm_t comm);

  /// With the factor that `data` has for `rank`.
  /// @errors those of rondoRedOpCreatePreMulSum
  static Result<CollectiveCaller> create(const Case& what,
                                         const PredictableData& data,
                                         rondoComm_t comm,
                                         int rank);

  CollectiveCaller(CollectiveCaller&& other) noexcept;
  CollectiveCaller& operator=(CollectiveCaller&&) = delete;
  ~CollectiveCaller();

  /// The call itself; in the timed loop, so it only passes on.
  rondoResult_t call(const void* send, void* recv, rondoStream_t stream = nullptr) const;

  /// All ranks meet.
  rondoResult_t meet() const { return rondoBarrier(comm_, nullptr); }

  Status status(rondoResult_t result) const { return statusOf(result, comm_); }

 private:
  CollectiveCaller(const Case& what, rondoComm_t comm);

  rondoResult_t callWithBlocks(const void* send, void* recv, rondoStream_t stream) const;
  rondoResult_t exchange(const void* send, void* recv, rondoStream_t stream) const;

  Case what_;
  int rank_ = 0;
  int ranks_ = 1;
  // Of an operation with blocks of different sizes; of an all-to-all what it gets.
  std::vector<std::size_t> counts_;
  std::vector<std::size_t> places_;
  std::vector<std::size_t> equalCounts_;
  std::vector<std::size_t> equalPlaces_;
  rondoDataType_t type_;
  rondoRedOp_t op_;
  rondoComm_t comm_;
};

}  // namespace rondo::perf
