#include "tests/collective/prepared_call.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>

#include "collectives/buffers.h"

namespace rondo::testing {

namespace {

constexpr std::byte kUntouched{0xee};

rondoDataType_t publicType(DataType type) {
  return static_cast<rondoDataType_t>(type);
}

Bytes slice(const Bytes& bytes, std::size_t begin, std::size_t length) {
  const auto at = bytes.begin() + static_cast<std::ptrdiff_t>(begin);
  return {at, at + static_cast<std::ptrdiff_t>(length)};
}

bool registersBuffers() {
  return std::getenv("RONDOTEST_REGISTER") != nullptr;  // NOLINT(concurrency-mt-unsafe)
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
    const RankPlace place{number, communicators.ranks(), spec.root};
    const std::size_t sent = spec.count * inputBlocks(spec.collective, place);
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
  const RankPlace place{number, ranks, spec_.root};
  rank.sendBytes = blockBytes * inputBlocks(spec_.collective, place);
  rank.recvBytes = blockBytes * outputBlocks(spec_.collective, place);
  rank.shared = spec_.inPlace && (!hasRoot(spec_.collective) || number == spec_.root);
  if (!rank.shared) {
    rank.send = GuardedBuffer(rank.sendBytes, spec_.sendShift);
    rank.recv = GuardedBuffer(rank.recvBytes, spec_.recvShift);
    return;
  }
  const std::size_t ownBlock = blockBytes * static_cast<std::size_t>(number);
  if (rank.sendBytes > rank.recvBytes) rank.recvAt = ownBlock;
  if (rank.sendBytes < rank.recvBytes) rank.sendAt = ownBlock;
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
  if (rank.result == rondoSuccess)
    rank.result = registersBuffers() ? callRegistered(rank, op) : call(rank, op);
  if (rank.result != rondoSuccess) rank.message = rondoGetLastError(rank.comm);
  if (ownOp) (void)rondoRedOpDestroy(op, rank.comm);
}

rondoResult_t PreparedCall::callRegistered(Rank& rank, rondoRedOp_t op) const {
  std::vector<rondoRegistration_t> registrations;
  rondoResult_t result = rondoSuccess;
  for (const std::span<std::byte> memory : {rank.send.bytes(), rank.recv.bytes()}) {
    if (memory.empty() || result != rondoSuccess) continue;
    rondoRegistration_t registration = nullptr;
    result = rondoCommRegister(rank.comm, memory.data(), memory.size(), &registration);
    if (result == rondoSuccess) registrations.push_back(registration);
  }
  if (result == rondoSuccess) result = call(rank, op);
  for (const rondoRegistration_t registration : registrations) {
    const rondoResult_t ended = rondoCommDeregister(rank.comm, registration);
    if (result == rondoSuccess) result = ended;
  }
  return result;
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
    case Collective::kAllToAll:
      return rondoAllToAll(send, recv, count, type, rank.comm, nullptr);
    case Collective::kGather:
      return rondoGather(send, recv, count, type, spec_.root, rank.comm, nullptr);
    case Collective::kScatter:
      return rondoScatter(send, recv, count, type, spec_.root, rank.comm, nullptr);
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
  Bytes reduced;
  if (isReduction(spec_.collective)) {
    const Result<Plan> plan = communicators.plan(spec_.request());
    if (!plan.ok()) return;  // the call will be refused too
    reduced = reduceNaively(
        {spec_.request(), communicators.ranks(), *plan, hostsOfRanks(communicators.ranks())},
        inputs, factors);
  }
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    expected_[rank] = expectedAt(rank, inputs, reduced);
}

/// @param reduced empty where the operation only moves
Bytes PreparedCall::expectedAt(std::size_t rank,
                               const std::vector<Bytes>& inputs,
                               const Bytes& reduced) const {
  const BufferExtents buffers = buffersOf(spec_.collective);
  const std::size_t blockBytes = spec_.count * elementBytes(spec_.type);
  const std::size_t block = holdsBlocks(buffers.input) ? rank * blockBytes : 0;
  const bool reduces = !reduced.empty();
  const Bytes& fromRoot = reduces ? reduced : inputs[static_cast<std::size_t>(spec_.root)];
  if (ranks_[rank].recvBytes == 0) return {};
  if (!holdsBlocks(buffers.output)) return slice(fromRoot, block, blockBytes);
  Bytes all;
  for (const Bytes& input : inputs) {
    const Bytes part = slice(input, block, blockBytes);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
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
    if (rank.sendBytes <= rank.recvBytes) return {};
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
