#include "tests/collective/compressed_call.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "kernels/host/float_blocks.h"

namespace rondo::testing {

std::ostream& operator<<(std::ostream& out, const CompressedCall& call) {
  return out << collectiveName(call.collective) << " " << codecName(call.codec) << " "
             << dataTypeName(call.type) << " " << reduceOpName(call.op) << " count " << call.count
             << " blocks of " << call.blockElems << " tensors " << call.tensors.size()
             << (call.inPlace ? " in place" : "");
}

rondoCompression_t howOf(const CompressedCall& call) {
  rondoCompression_t how = RONDO_COMPRESSION_INITIALIZER;
  how.codec = static_cast<rondoCodec_t>(call.codec);
  how.blockElems = static_cast<std::int64_t>(call.blockElems);
  how.tensorCounts = call.tensors.empty() ? nullptr : call.tensors.data();
  how.tensors = call.tensors.size();
  return how;
}

rondoResult_t issue(const CompressedCall& call,
                    const void* send,
                    void* recv,
                    const rondoCompression_t& how,
                    rondoComm_t comm,
                    rondoStream_t stream) {
  const auto type = static_cast<rondoDataType_t>(call.type);
  const auto op = static_cast<rondoRedOp_t>(call.op);
  if (call.collective == Collective::kAllReduce)
    return rondoAllReduceCompressed(send, recv, call.count, type, op, &how, comm, stream);
  if (call.collective == Collective::kReduceScatter)
    return rondoReduceScatterCompressed(send, recv, call.count, type, op, &how, comm, stream);
  return rondoAllGatherCompressed(send, recv, call.count, type, &how, comm, stream);
}

CompressedOutcome runCompressed(const CompressedCall& call,
                                const Communicators& comms,
                                const std::vector<Bytes>& inputs,
                                const std::vector<rondoErrorFeedback_t>& feedbacks) {
  const auto ranks = static_cast<std::size_t>(comms.ranks());
  const std::size_t elem = elementBytes(call.type);
  CompressedOutcome outcome(ranks);
  std::vector<Bytes> buffers(ranks);
  EXPECT_EQ(rondoGroupStart(), rondoSuccess);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::size_t recvBytes = call.recvBytes(ranks);
    const std::size_t sendBytes = inputs[rank].size();
    rondoCompression_t how = howOf(call);
    how.report = &outcome.reports[rank];
    if (!feedbacks.empty()) how.feedback = feedbacks[rank];
    Bytes& buffer = buffers[rank];
    std::size_t sendAt = 0;
    std::size_t recvAt = sendBytes;
    if (call.inPlace) {
      const std::size_t own = rank * call.count * elem;
      sendAt = call.collective == Collective::kAllGather ? own : 0;
      recvAt = call.collective == Collective::kReduceScatter ? own : 0;
    }
    buffer.resize(std::max(sendAt + sendBytes, recvAt + recvBytes) + 1);
    std::ranges::copy(inputs[rank], buffer.begin() + static_cast<std::ptrdiff_t>(sendAt));
    EXPECT_EQ(issue(call, buffer.data() + sendAt, buffer.data() + recvAt, how,
                    comms[static_cast<int>(rank)]),
              rondoSuccess)
        << rondoGetLastError(nullptr);
  }
  EXPECT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(nullptr);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::size_t recvBytes = call.recvBytes(ranks);
    std::size_t recvAt = inputs[rank].size();
    if (call.inPlace)
      recvAt = call.collective == Collective::kReduceScatter ? rank * call.count * elem : 0;
    const auto first = buffers[rank].begin() + static_cast<std::ptrdiff_t>(recvAt);
    outcome.recv[rank].assign(first, first + static_cast<std::ptrdiff_t>(recvBytes));
  }
  return outcome;
}

Bytes savedOf(rondoErrorFeedback_t feedback) {
  std::size_t size = 0;
  EXPECT_EQ(rondoErrorFeedbackSave(feedback, nullptr, 0, &size), rondoSuccess);
  Bytes bytes(size);
  EXPECT_EQ(rondoErrorFeedbackSave(feedback, bytes.data(), bytes.size(), &size), rondoSuccess);
  EXPECT_EQ(size, bytes.size());
  return bytes;
}

std::vector<float> widened(DataType type, const Bytes& elements) {
  const host::FloatForm form(type, host::SimdTarget::kScalar);
  std::vector<float> values(elements.size() / form.elemBytes());
  form.widen(elements.data(), values.size(), values.data());
  return values;
}

Bytes narrowed(DataType type, const std::vector<float>& values) {
  const host::FloatForm form(type, host::SimdTarget::kScalar);
  Bytes elements(values.size() * form.elemBytes());
  form.narrow(values.data(), values.size(), elements.data());
  return elements;
}

std::vector<std::size_t> unevenTensors(std::size_t elems) {
  std::vector<std::size_t> tensors;
  for (std::size_t next = 1; elems > 0; next = next * 3 % 601) {
    const std::size_t size = std::min(elems, next);
    tensors.push_back(size);
    if (size % 2 == 0) tensors.push_back(0);
    elems -= size;
  }
  return tensors;
}

}  // namespace rondo::testing
