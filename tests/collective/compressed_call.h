// Compressed collectives of all ranks by the C API, as the tests of host and device communicators
// make them.
#pragma once

#include <cstddef>
#include <ostream>
#include <vector>

#include "collectives/schedule.h"
#include "kernels/codec.h"
#include "kernels/data_type.h"
#include "rondo/rondo.h"
#include "tests/collective/communicators.h"

namespace rondo::testing {

using Bytes = std::vector<std::byte>;

inline constexpr Codec kAllCodecs[] = {
#define RONDO_VALUE(name, codeBytes, scaleBytes, text) Codec::k##name,
    RONDO_FOR_EACH_CODEC(RONDO_VALUE)
#undef RONDO_VALUE
};

/// Those that compress.
inline constexpr Collective kCompressedCollectives[] = {
    Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather};

/// One compressed call of all ranks.
struct CompressedCall {
  Collective collective = Collective::kAllReduce;
  Codec codec = Codec::kInt8;
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  std::size_t count = 0;
  std::size_t blockElems = kDefaultBlockElems;
  std::vector<std::size_t> tensors{};
  bool inPlace = false;

  std::size_t sendElems(std::size_t ranks) const {
    return collective == Collective::kReduceScatter ? count * ranks : count;
  }

  std::size_t recvElems(std::size_t ranks) const {
    return collective == Collective::kAllGather ? count * ranks : count;
  }

  std::size_t recvBytes(std::size_t ranks) const { return recvElems(ranks) * elementBytes(type); }
};

std::ostream& operator<<(std::ostream& out, const CompressedCall& call);

/// What came of a call, by rank.
struct CompressedOutcome {
  explicit CompressedOutcome(std::size_t ranks) : recv(ranks), reports(ranks, {7, 7, 7, 7}) {}

  std::vector<Bytes> recv;
  std::vector<rondoCompressionReport_t> reports;
};

/// Without feedback and report.
rondoCompression_t howOf(const CompressedCall& call);

/// One rank's part.
rondoResult_t issue(const CompressedCall& call,
                    const void* send,
                    void* recv,
                    const rondoCompression_t& how,
                    rondoComm_t comm,
                    rondoStream_t stream = nullptr);

/// All ranks' calls on host memory, made by this thread in one group.
/// @param feedbacks one per rank; empty: none
CompressedOutcome runCompressed(const CompressedCall& call,
                                const Communicators& comms,
                                const std::vector<Bytes>& inputs,
                                const std::vector<rondoErrorFeedback_t>& feedbacks = {});

/// What rondoErrorFeedbackSave() makes of it.
Bytes savedOf(rondoErrorFeedback_t feedback);

/// Elements of `type`, as floats and back.
std::vector<float> widened(DataType type, const Bytes& elements);
Bytes narrowed(DataType type, const std::vector<float>& values);

/// `elems` elements in tensors of uneven sizes, empty ones among them.
std::vector<std::size_t> unevenTensors(std::size_t elems);

}  // namespace rondo::testing
