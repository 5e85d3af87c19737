#include "tests/collective/prepared_call.h"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <utility>

namespace rondo::testing {

namespace {

constexpr std::byte kUntouched{0xee};

std::size_t blocksSent(Collective collective, int ranks) {
  return collective == Collective::kReduceScatter ? static_cast<std::size_t>(ranks) : 1;
}

std::size_t blocksReceived(Collective collective, int ranks) {
  return collective == Collective::kAllGather ? static_cast<std::size_t>(ranks) : 1;
}

rondoDataType_t publicType(DataType type) {
  return static_cast<rondoDataType_t>(type);
}

Bytes slice(const Bytes& bytes, std::size_t begin, std::size_t length) {
  const auto at = bytes.begin() + static_cast<std::ptrdiff_t>(begin);
  return {at, at + static_cast<std::ptrdiff_t>(length)};
}

}  // namespace

PlanRequest CallSpec::request() const {
  PlanRequest request;
  request.collective = collective;
  request.count = count;
  request.type = type;
  if (isReduction(collective)) request.op = op;
  if (hasRoot(collective)) request.root = root;
  return request;
}

std::string CallSpec::text() const {
  std::ostringstream text;
  text << collectiveName(collective) << ' ' << dataTypeName(type);
  if (isReduction(collective)) text << ' ' << reduceOpName(op);
  text << " count " << count << " root " << root << (inPlace ? " in place" : "") << " shifts "
       << sendShift << '/' << recvShift << " inputs " << inputKindName(inputs) << " seed " << seed;
  return text.str();
}

PreparedCall::PreparedCall(const CallSpec& spec,
                           const Communicators& communicators,
                           std::vector<Bytes> inputs)
    : spec_(spec), ranks_(static_cast<std::size_t>(communicators.ranks())) {
  for (int number = 0; number < communicators.ranks(); ++number) {
    Rank& rank = ranks_[static_cast<std::size_t>(number)];
    rank.comm = communicators[number];
    const std::uint64_t seed = scramble(spec.seed) + static_cast<std::uint64_t>(number) * 7919;
    const std::size_t sent = spec.count * blocksSent(spec.collective, communicators.ranks());
    rank.input = inputs.empty() ? makeInput(spec.type, spec.inputs, sent, seed)
                                : std::move(inputs[static_cast<std::size_t>(number)]);
    if (spec.op == ReduceOp::kPreMulSum) {
      rank.factor = makeInput(spec.type, spec.inputs, 1, seed + 1);
    }
    layOut(rank, number);
    fill(rank);
  }
  expectResults(communicators);
}

void PreparedCall::layOut(Rank& rank, int number) {
  const int ranks = static_cast<int>(ranks_.size());
  const std::size_t blockBytes = spec_.count * elementBytes(spec_.type);
  const bool isRoot = !hasRoot(spec_.collective) || number == spec_.root;
  rank.sendBytes = blockBytes * blocksSent(spec_.collective, ranks);
  rank.recvBytes = blockBytes * blocksReceived(spec_.collective, ranks);
  if (spec_.collective == Collective::kBroadcast && !isRoot) rank.sendBytes = 0;
  if (spec_.collective == Collective::kReduce && !isRoot) rank.recvBytes = 0;
  rank.shared = spec_.inPlace && isRoot;
  if (!rank.shared) {
    rank.send = GuardedBuffer(rank.sendBytes, spec_.sendShift);
    rank.recv = GuardedBuffer(rank.recvBytes, spec_.recvShift);
    return;
  }
  const std::size_t ownBlock = blockBytes * static_cast<std::size_t>(number);
  if (spec_.collective == Collective::kReduceScatter) rank.recvAt = ownBlock;
  if (spec_.collective == Collective::kAllGather) rank.sendAt = ownBlock;
  rank.send = GuardedBuffer(std::max(rank.sendBytes, rank.recvBytes), spec_.sendShift);
}

void PreparedCall::fill(Rank& rank) {
  std::ranges::fill(rank.send.bytes(), kUntouched);
  if (!rank.shared) std::ranges::fill(rank.recv.bytes(), kUntouched);
  if (rank.sendBytes != 0) std::memcpy(sendOf(rank), rank.input.data(), rank.sendBytes);
  rank.result = rondoInProgress;
}

void PreparedCall::rearm() {
  for (Rank& rank : ranks_)
    fill(rank);
}

std::byte* PreparedCall::sendOf(Rank& rank) const {
  return rank.send.data() + rank.sendAt;
}

std::byte* PreparedCall::recvOf(Rank& rank) const {
  return rank.shared ? rank.send.data() + rank.recvAt : rank.recv.data();
}

std::span<std::byte> PreparedCall::outputOf(Rank& rank) const {
  return {recvOf(rank), rank.recvBytes};
}

void PreparedCall::execute(int number) {
  Rank& rank = ranks_[static_cast<std::size_t>(number)];
  RankTeam::note(spec_.text());
  auto op = static_cast<rondoRedOp_t>(spec_.op);
  const bool ownOp = isReduction(spec_.collective) && spec_.op == ReduceOp::kPreMulSum;
  rank.result = rondoSuccess;
  if (ownOp) {
    rank.result = rondoRedOpCreatePreMulSum(&op, rank.factor.data(), publicType(spec_.type),
                                            rondoScalarHostImmediate, rank.comm);
  }
  if (rank.result == rondoSuccess) rank.result = call(rank, op);
  if (rank.result != rondoSuccess) rank.message = rondoGetLastError(rank.comm);
  if (ownOp) (void)rondoRedOpDestroy(op, rank.comm);
}

rondoResult_t PreparedCall::call(Rank& rank, rondoRedOp_t op) const {
  const rondoDataType_t type = publicType(spec_.type);
  // Where the table of rondo.h allows NULL, it is what a careful test passes.
  const void* const send = rank.sendBytes == 0 ? nullptr : sendOf(rank);
  void* const recv = rank.recvBytes == 0 ? nullptr : recvOf(rank);
  const std::size_t count = spec_.count;
  switch (spec_.collective) {
    case Collective::kAllReduce:
      return rondoAllReduce(send, recv, count, type, op, rank.comm, nullptr);
    case Collective::kReduceScatter:
      return rondoReduceScatter(send, recv, count, type, op, rank.comm, nullptr);
    case Collective::kAllGather:
      return rondoAllGather(send, recv, count, type, rank.comm, nullptr);
    case Collective::kBroadcast:
      return rondoBroadcast(send, recv, count, type, spec_.root, rank.comm, nullptr);
    case Collective::kReduce:
      return rondoReduce(send, recv, count, type, op, spec_.root, rank.comm, nullptr);
    case Collective::kBarrier:
      return rondoBarrier(rank.comm, nullptr);
  }
  return rondoInternalError;
}

void PreparedCall::expectResults(const Communicators& communicators) {
  expected_.resize(ranks_.size());
  if (spec_.count == 0 || !spec_.expectsResults) return;
  std::vector<Bytes> inputs;
  std::vector<Bytes> factors;
  for (const Rank& rank : ranks_) {
    inputs.push_back(rank.input);
    factors.push_back(rank.factor);
  }
  Bytes all;
  if (isReduction(spec_.collective)) {
    const Result<Plan> plan = communicators.plan(spec_.request());
    if (!plan.ok()) return;  // the call will be refused too
    all = reduceNaively({spec_.request(), communicators.ranks(), *plan}, inputs, factors);
  } else if (spec_.collective == Collective::kBroadcast) {
    all = inputs[static_cast<std::size_t>(spec_.root)];
  } else if (spec_.collective == Collective::kAllGather) {
    for (const Bytes& input : inputs)
      all.insert(all.end(), input.begin(), input.end());
  }
  const bool scatters = spec_.collective == Collective::kReduceScatter;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const std::size_t bytes = ranks_[rank].recvBytes;
    expected_[rank] = slice(all, scatters ? rank * bytes : 0, bytes);
  }
}

std::string PreparedCall::verify() {
  std::ostringstream wrong;
  for (int number = 0; number < static_cast<int>(ranks_.size()); ++number) {
    const std::string fault = verifyRank(number);
    if (!fault.empty()) wrong << "\n  rank " << number << ": " << fault;
  }
  return wrong.str();
}

std::string PreparedCall::verifyRank(int number) {
  Rank& rank = ranks_[static_cast<std::size_t>(number)];
  if (rank.result != rondoSuccess) {
    return std::string(rondoGetErrorString(rank.result)) + ": " + rank.message;
  }
  if (!rank.send.guardsIntact()) return "bytes around send were changed";
  if (!rank.shared && !rank.recv.guardsIntact()) return "bytes around recv were changed";
  std::string fault =
      describeDifference(spec_.type, isReduction(spec_.collective),
                         expected_[static_cast<std::size_t>(number)], outputOf(rank));
  if (!fault.empty()) return fault;
  // In place, only the part of send that recv covers may have changed.
  if (rank.sendBytes == 0) return {};
  Bytes wanted = rank.input;
  if (rank.shared && rank.recvBytes != 0) {
    if (spec_.collective != Collective::kReduceScatter) return {};
    std::memcpy(wanted.data() + rank.recvAt, recvOf(rank), rank.recvBytes);
  }
  fault = describeDifference(spec_.type, false, wanted, {sendOf(rank), rank.sendBytes});
  return fault.empty() ? fault : "send was changed: " + fault;
}

std::string runAndVerify(const CallSpec& spec,
                         const Communicators& communicators,
                         std::vector<Bytes> inputs) {
  PreparedCall prepared(spec, communicators, std::move(inputs));
  const bool returned = RankTeam::shared().run(
      communicators.ranks(), [&](int rank) { prepared.execute(rank); },
      [&] { communicators.abort(); });
  if (!returned) return "deadline passed";
  return prepared.verify();
}

}  // namespace rondo::testing
