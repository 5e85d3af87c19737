#include "src/cli/perf/collective_caller.h"

#include <array>
#include <utility>

namespace rondo::perf {

namespace {

bool ownsReduction(const Case& what) {
  return isReduction(what.collective) && what.op == ReduceOp::kPreMulSum;
}

}  // namespace

Status statusOf(rondoResult_t result, rondoComm_t comm) {
  if (result == rondoSuccess) return {};
  const char* const message = rondoGetLastError(comm);
  return Status(static_cast<StatusCode>(result),
                *message != '\0' ? message : rondoGetErrorString(result));
}

CollectiveCaller::CollectiveCaller(const Case& what, rondoComm_t comm)
    : what_(what),
      type_(static_cast<rondoDataType_t>(what.type)),
      op_(static_cast<rondoRedOp_t>(what.op)),
      comm_(comm) {
  if (what.form == Form::kCollective) return;
  (void)rondoCommRank(comm, &rank_);
  (void)rondoCommCount(comm, &ranks_);
  const BlockSizes sizes = blocksOf(what);
  for (int rank = 0; rank < ranks_; ++rank) {
    counts_.push_back(sizes.of(rank));
    places_.push_back(sizes.before(rank));
    equalCounts_.push_back(sizes.of(rank_));
    equalPlaces_.push_back(static_cast<std::size_t>(rank) * sizes.of(rank_));
  }
}

Result<CollectiveCaller> CollectiveCaller::create(const Case& what,
                                                  std::span<const std::byte> factor,
                                                  rondoComm_t comm) {
  CollectiveCaller caller(what, comm);
  if (!ownsReduction(what)) return caller;
  caller.op_ = rondoSum;  // nothing to destroy if the next call fails
  RONDO_RETURN_IF_ERROR(statusOf(rondoRedOpCreatePreMulSum(&caller.op_, factor.data(), caller.type_,
                                                           rondoScalarHostImmediate, comm),
                                 comm));
  return caller;
}

Result<CollectiveCaller> CollectiveCaller::create(const Case& what,
                                                  const PredictableData& data,
                                                  rondoComm_t comm,
                                                  int rank) {
  alignas(8) std::array<std::byte, 8> scale{};
  const auto factor = std::span(scale).first(elementBytes(what.type));
  if (ownsReduction(what)) data.writeScale(rank, factor);
  return create(what, factor, comm);
}

CollectiveCaller::CollectiveCaller(CollectiveCaller&& other) noexcept
    : what_(other.what_),
      rank_(other.rank_),
      ranks_(other.ranks_),
      counts_(std::move(other.counts_)),
      places_(std::move(other.places_)),
      equalCounts_(std::move(other.equalCounts_)),
      equalPlaces_(std::move(other.equalPlaces_)),
      type_(other.type_),
      op_(other.op_),
      comm_(other.comm_) {
  other.op_ = rondoSum;
}

CollectiveCaller::~CollectiveCaller() {
  if (op_ >= rondoRedOpFirstDynamic) (void)rondoRedOpDestroy(op_, comm_);
}

rondoResult_t CollectiveCaller::callWithBlocks(const void* send,
                                               void* recv,
                                               rondoStream_t stream) const {
  const std::size_t* const counts = counts_.data();
  const std::size_t* const places = places_.data();
  const std::size_t own = counts_[static_cast<std::size_t>(rank_)];
  switch (what_.collective) {
    case Collective::kAllGather:
      return rondoAllGatherV(send, recv, counts, places, type_, comm_, stream);
    case Collective::kReduceScatter:
      return rondoReduceScatterV(send, recv, counts, places, type_, op_, comm_, stream);
    case Collective::kAllToAll:
      return rondoAllToAllV(send, counts, places, recv, equalCounts_.data(), equalPlaces_.data(),
                            type_, comm_, stream);
    case Collective::kGather:
      return rondoGatherV(send, own, recv, counts, places, type_, what_.root, comm_, stream);
    case Collective::kScatter:
      return rondoScatterV(send, counts, places, recv, own, type_, what_.root, comm_, stream);
    default:
      return rondoInternalError;  // hasBlocksForm()
  }
}

rondoResult_t CollectiveCaller::exchange(const void* send, void* recv, rondoStream_t stream) const {
  (void)rondoGroupStart();  // what fails inside fails the group
  (void)rondoSend(send, what_.count, type_, (rank_ + 1) % ranks_, comm_, stream);
  (void)rondoRecv(recv, what_.count, type_, (rank_ + ranks_ - 1) % ranks_, comm_, stream);
  return rondoGroupEnd();
}

rondoResult_t CollectiveCaller::call(const void* send, void* recv, rondoStream_t stream) const {
  if (what_.form == Form::kMessages) return exchange(send, recv, stream);
  if (what_.form == Form::kBlocks) return callWithBlocks(send, recv, stream);
  switch (what_.collective) {
    case Collective::kAllReduce:
      return rondoAllReduce(send, recv, what_.count, type_, op_, comm_, stream);
    case Collective::kReduceScatter:
      return rondoReduceScatter(send, recv, what_.count, type_, op_, comm_, stream);
    case Collective::kAllGather:
      return rondoAllGather(send, recv, what_.count, type_, comm_, stream);
    case Collective::kBroadcast:
      return rondoBroadcast(send, recv, what_.count, type_, what_.root, comm_, stream);
    case Collective::kReduce:
      return rondoReduce(send, recv, what_.count, type_, op_, what_.root, comm_, stream);
    case Collective::kBarrier:
      return rondoBarrier(comm_, stream);
    case Collective::kAllToAll:
      return rondoAllToAll(send, recv, what_.count, type_, comm_, stream);
    case Collective::kGather:
      return rondoGather(send, recv, what_.count, type_, what_.root, comm_, stream);
    case Collective::kScatter:
      return rondoScatter(send, recv, what_.count, type_, what_.root, comm_, stream);
  }
  return rondoInternalError;
}

}  // namespace rondo::perf
