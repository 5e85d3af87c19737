#include "src/argument_checks.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

#include "collectives/buffers.h"
#include "rondo/rondo.h"
#include "src/block_overlap.h"

namespace rondo {

namespace {

/// One of the two buffers, as far as the calling rank uses it.
struct Buffer {
  std::string_view name;
  const void* data = nullptr;
  std::size_t bytes = 0;
  bool used = false;

  std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(data); }
};

/// Everything the rules about memory need, in bytes.
struct Memory {
  Buffer send;
  Buffer recv;
  /// Where recv starts, counted from send's start, if the call is in place.
  std::ptrdiff_t inPlaceOffset = 0;
  std::string_view inPlaceRule;  ///< empty: it cannot be
};

bool isBuiltIn(int op) {
  return op >= rondoSum && op <= rondoAvg;
}

/// An element type as the library works with it.
struct ElementKind {
  DataType type = DataType::kUint8;
  bool pairs = false;  ///< elements are complex numbers, of two `type` each

  /// What `count` elements are in numbers of `type`; too much for any check if it is too much to
  /// count.
  std::size_t parts(std::size_t count) const {
    constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
    if (!pairs) return count;
    return count > kMost / 2 ? kMost : 2 * count;
  }
};

Result<ElementKind> readType(int type) {
  if (type == rondoComplex64) return ElementKind{DataType::kFloat32, true};
  if (type == rondoComplex128) return ElementKind{DataType::kFloat64, true};
  if (type >= 0 && type < kDataTypeCount) return ElementKind{static_cast<DataType>(type), false};
  return Status::invalidArgument(
      "type {} is no rondoDataType_t; pass rondoInt8 (0) to rondoComplex128 ({})", type,
      static_cast<int>(rondoComplex128));
}

Status resolveUserOp(CollectiveCall& call, const MadeReduction& made, int type) {
  call.op = ReduceOp::kMax;
  call.combiner = made.combiner;
  const std::size_t parts = call.pairs ? 2 : 1;
  call.user = {made.function, made.context, static_cast<rondoDataType_t>(type),
               parts * elementBytes(call.type), parts};
  return {};
}

Status resolvePreMulSum(CollectiveCall& call, const MadeReduction& made, int op, Caller caller) {
  if (call.pairs || made.type != call.type) {
    return Status::invalidArgument(
        "op {:#x} was made for type {}, not {}{}; make another one with rondoRedOpCreatePreMulSum",
        op, dataTypeName(made.type), call.pairs ? "complex numbers of " : "",
        dataTypeName(call.type));
  }
  call.op = ReduceOp::kPreMulSum;
  if (made.scalar == nullptr) {
    call.factor = made.factor;
  } else if (caller.onDevice) {
    call.deviceFactor = made.scalar;
  } else {
    call.factor = makeFactor(made.type, made.scalar);
  }
  return {};
}

/// Fills in what of `call` says how elements are reduced.
/// @param type as the program passed it
Status resolveOp(
    CollectiveCall& call, int op, int type, Caller caller, const ReductionTable& reductions) {
  if (isBuiltIn(op)) {
    call.op = static_cast<ReduceOp>(op);
    if (call.pairs && call.op != ReduceOp::kSum && call.op != ReduceOp::kAvg) {
      return Status::invalidArgument(
          "op {} of complex numbers is not there: they have no order, and no product here; use "
          "rondoSum, rondoAvg, or what rondoRedOpCreateUser gives",
          reduceOpName(call.op));
    }
    if (isReducible(call.type, call.op)) return {};
    return Status::invalidArgument(
        "op rondoAvg of rondoBool has no meaning; use rondoMax (any) or rondoMin (all)");
  }
  if (op < rondoRedOpFirstDynamic) {
    return Status::invalidArgument(
        "op {} is no rondoRedOp_t; pass rondoSum (0) to rondoAvg ({}), or what "
        "rondoRedOpCreatePreMulSum or rondoRedOpCreateUser gave",
        op, static_cast<int>(rondoAvg));
  }
  const Result<const MadeReduction*> made = reductions.find(op);
  RONDO_RETURN_IF_ERROR(made.status());
  return (*made)->combiner == Combiner::kBuiltIn ? resolvePreMulSum(call, **made, op, caller)
                                                 : resolveUserOp(call, **made, type);
}

Status checkRoot(int root, int ranks) {
  if (root >= 0 && root < ranks) return {};
  return Status::invalidArgument("root {} is no rank; pass 0 to {}", root, ranks - 1);
}

Status checkCount(std::size_t count, DataType type, int ranks) {
  constexpr auto kMaxBytes = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  const std::size_t most = kMaxBytes / static_cast<std::size_t>(ranks) / elementBytes(type);
  if (count <= most) return {};
  return Status::invalidArgument(
      "count {} is more than {} ranks can address in elements of {} bytes; pass {} at most", count,
      ranks, elementBytes(type), most);
}

std::string_view inPlaceRule(const BufferExtents& buffers) {
  if (holdsBlocks(buffers.input) == holdsBlocks(buffers.output)) return "recv equal to send";
  return holdsBlocks(buffers.output) ? "send equal to recv + rank x count"
                                     : "recv equal to send + rank x count";
}

/// Precondition: the type, root and count are right.
Memory describeMemory(const RawCall& raw, const CollectiveCall& call, Caller caller) {
  const std::size_t blockBytes = call.count * elementBytes(call.type);
  const RankPlace place{caller.rank, caller.ranks, raw.root};
  const std::size_t sent = inputBlocks(raw.collective, place);
  const std::size_t received = outputBlocks(raw.collective, place);
  const bool used = raw.count > 0;
  return {{"send", raw.send, blockBytes * sent, used && sent > 0},
          {"recv", raw.recv, blockBytes * received, used && received > 0},
          -static_cast<std::ptrdiff_t>(blockBytes) * inPlaceBlocks(raw.collective, caller.rank),
          inPlaceRule(buffersOf(raw.collective))};
}

Status checkBuffer(const Buffer& buffer, DataType type) {
  if (!buffer.used) return {};
  if (buffer.data == nullptr) {
    return Status::invalidArgument("{} is NULL; pass {} bytes, or count 0", buffer.name,
                                   buffer.bytes);
  }
  if (buffer.address() % elementBytes(type) != 0) {
    return Status::invalidArgument("{} {} is misaligned; align it to {} bytes, the size of a {}",
                                   buffer.name, buffer.data, elementBytes(type),
                                   dataTypeName(type));
  }
  return {};
}

Status checkOverlap(const Memory& memory) {
  const Buffer& send = memory.send;
  const Buffer& recv = memory.recv;
  if (!send.used || !recv.used) return {};
  const std::uintptr_t inPlace = send.address() + static_cast<std::uintptr_t>(memory.inPlaceOffset);
  if (recv.address() == inPlace && !memory.inPlaceRule.empty()) return {};
  const bool disjoint = send.address() < recv.address()
                            ? recv.address() - send.address() >= send.bytes
                            : send.address() - recv.address() >= recv.bytes;
  if (disjoint) return {};
  if (memory.inPlaceRule.empty()) {
    return Status::invalidArgument(
        "send {} ({} bytes) and recv {} ({} bytes) overlap; pass separate buffers", send.data,
        send.bytes, recv.data, recv.bytes);
  }
  return Status::invalidArgument(
      "send {} ({} bytes) and recv {} ({} bytes) overlap; pass separate buffers, or {} for in "
      "place",
      send.data, send.bytes, recv.data, recv.bytes, memory.inPlaceRule);
}

/// Fills in what calls of all kinds have: collective, type, op.
template <class Raw>
Result<ElementKind> describeKind(const Raw& raw,
                                 Caller caller,
                                 const ReductionTable& reductions,
                                 CollectiveCall& call) {
  const Result<ElementKind> kind = readType(raw.type);
  RONDO_RETURN_IF_ERROR(kind.status());
  call.type = kind->type;
  call.pairs = kind->pairs;
  call.collective = raw.collective;
  if (isReduction(raw.collective))
    RONDO_RETURN_IF_ERROR(resolveOp(call, raw.op, raw.type, caller, reductions));
  if (hasRoot(raw.collective)) RONDO_RETURN_IF_ERROR(checkRoot(raw.root, caller.ranks));
  return *kind;
}

/// Fills in all of `call` but its buffers.
Status describe(const RawCall& raw,
                Caller caller,
                const ReductionTable& reductions,
                CollectiveCall& call) {
  const Result<ElementKind> kind = describeKind(raw, caller, reductions, call);
  RONDO_RETURN_IF_ERROR(kind.status());
  call.count = kind->parts(raw.count);
  call.root = raw.root;
  return checkCount(call.count, call.type, caller.ranks);
}

/// Fills in `call`'s buffers. Precondition: the rest is right.
Status checkBuffers(const RawCall& raw, Caller caller, CollectiveCall& call) {
  const Memory memory = describeMemory(raw, call, caller);
  RONDO_RETURN_IF_ERROR(checkBuffer(memory.send, call.type));
  RONDO_RETURN_IF_ERROR(checkBuffer(memory.recv, call.type));
  RONDO_RETURN_IF_ERROR(checkOverlap(memory));
  call.send = memory.send.used ? raw.send : nullptr;
  call.recv = memory.recv.used ? raw.recv : nullptr;
  return {};
}

// Calls whose blocks may be of different sizes.

/// A buffer of such blocks.
struct BlockExtent {
  std::size_t sum = 0;  ///< elements of all blocks
  std::size_t end = 0;  ///< elements from the buffer's start to behind the last of them
};

Result<BlockExtent> measure(std::string_view name,
                            const BlockArrays& blocks,
                            Caller caller,
                            DataType type) {
  if (blocks.counts == nullptr || blocks.offsets == nullptr) {
    return Status::invalidArgument("{} of the {} blocks are NULL; pass an array with one per rank",
                                   blocks.counts == nullptr ? "counts" : "displacements", name);
  }
  constexpr auto kMaxBytes = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  const std::size_t most = kMaxBytes / elementBytes(type);
  BlockExtent extent;
  for (int rank = 0; rank < caller.ranks; ++rank) {
    const std::size_t count = blocks.counts[rank];
    const std::size_t offset = blocks.offsets[rank];
    if (count == 0) continue;
    if (count > most || offset > most - count || extent.sum > most - count) {
      return Status::invalidArgument(
          "the {} block of rank {}, count {} at displacement {}, is beyond what {} elements can "
          "be; "
          "pass less",
          name, rank, count, offset, dataTypeName(type));
    }
    extent.sum += count;
    extent.end = std::max(extent.end, offset + count);
  }
  return extent;
}

/// A hash of numbers in their order (FNV-1a over words; Fowler, Noll and Vo).
std::uint64_t hashOf(const std::size_t* counts, int ranks) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (int rank = 0; rank < ranks; ++rank)
    hash = (hash ^ counts[rank]) * 0x100000001b3ULL;
  return hash;
}

/// Elements of the block that the rank has in a buffer of its own.
Result<std::size_t> ownCountOf(const RawVariedCall& raw, Caller caller, bool holdsArrays) {
  const BlockArrays& blocks = raw.recvBlocks.counts != nullptr ? raw.recvBlocks : raw.sendBlocks;
  if (!hasRoot(raw.collective)) return blocks.counts[caller.rank];
  if (!holdsArrays || blocks.counts[caller.rank] == raw.ownCount) return raw.ownCount;
  return Status::invalidArgument(
      "count {} of the root's own block is {} among the counts of all; pass the same", raw.ownCount,
      blocks.counts[caller.rank]);
}

/// `raw` with arrays in numbers of `kind.type`, which `call` keeps. Arrays of other ranks than the
/// root are not looked at.
RawVariedCall inParts(const RawVariedCall& raw,
                      ElementKind kind,
                      Caller caller,
                      CollectiveCall& call) {
  RawVariedCall parts = raw;
  parts.ownCount = kind.parts(raw.ownCount);
  const RankPlace place{caller.rank, caller.ranks, raw.root};
  const BufferExtents buffers = buffersOf(raw.collective);
  const auto ranks = static_cast<std::size_t>(caller.ranks);
  auto arrays = std::make_shared<std::vector<std::size_t>>();
  arrays->reserve(4 * ranks);
  const auto convert = [&](const std::size_t*& array) {
    if (array == nullptr) return;
    const std::size_t* const own = arrays->data() + arrays->size();
    std::transform(array, array + ranks, std::back_inserter(*arrays),
                   [&](std::size_t elems) { return kind.parts(elems); });
    array = own;
  };
  if (holdsBlocks(buffers.input) && blocksIn(buffers.input, place) > 0) {
    convert(parts.sendBlocks.counts);
    convert(parts.sendBlocks.offsets);
  }
  if (holdsBlocks(buffers.output) && blocksIn(buffers.output, place) > 0) {
    convert(parts.recvBlocks.counts);
    convert(parts.recvBlocks.offsets);
  }
  call.partBlocks = std::move(arrays);
  return parts;
}

/// Fills in `call`'s blocks. Precondition: the type and root are right.
Result<Memory> layOutBlocks(const RawVariedCall& raw, Caller caller, CollectiveCall& call) {
  const RankPlace place{caller.rank, caller.ranks, raw.root};
  const BufferExtents buffers = buffersOf(raw.collective);
  const std::size_t elem = elementBytes(call.type);
  const bool manySent = holdsBlocks(buffers.input) && blocksIn(buffers.input, place) > 0;
  const bool manyReceived = holdsBlocks(buffers.output) && blocksIn(buffers.output, place) > 0;
  BlockExtent sent;
  BlockExtent received;
  if (manySent) {
    const Result<BlockExtent> extent = measure("send", raw.sendBlocks, caller, call.type);
    RONDO_RETURN_IF_ERROR(extent.status());
    sent = *extent;
    call.sendBlocks = raw.sendBlocks;
  }
  if (manyReceived) {
    const Result<BlockExtent> extent = measure("recv", raw.recvBlocks, caller, call.type);
    RONDO_RETURN_IF_ERROR(extent.status());
    received = *extent;
    call.recvBlocks = raw.recvBlocks;
  }
  Memory memory;
  if (raw.collective != Collective::kAllToAll) {
    const Result<std::size_t> own = ownCountOf(raw, caller, manySent || manyReceived);
    RONDO_RETURN_IF_ERROR(own.status());
    RONDO_RETURN_IF_ERROR(checkCount(*own, call.type, 1));
    call.ownCount = *own;
    if (buffers.input == Extent::kBlock) sent = {*own, *own};
    if (buffers.output == Extent::kBlock) received = {*own, *own};
    const BlockArrays& all = manySent ? raw.sendBlocks : raw.recvBlocks;
    const std::size_t ownOffset = manySent || manyReceived ? all.offsets[caller.rank] * elem : 0;
    memory.inPlaceOffset = static_cast<std::ptrdiff_t>(ownOffset) * (manySent ? 1 : -1);
    memory.inPlaceRule = manySent ? "recv equal to send + displacements[rank]"
                                  : "send equal to recv + displacements[rank]";
  }
  memory.send = {"send", raw.send, sent.end * elem, sent.sum > 0};
  memory.recv = {"recv", raw.recv, received.end * elem, received.sum > 0};
  if (!hasRoot(raw.collective) && raw.collective != Collective::kAllToAll) {
    call.count = manySent ? sent.sum : received.sum;
    call.countsHash = hashOf((manySent ? raw.sendBlocks : raw.recvBlocks).counts, caller.ranks);
  }
  return memory;
}

BlocksInMemory inMemory(const Buffer& buffer,
                        const BlockArrays& blocks,
                        const CollectiveCall& call,
                        Caller caller) {
  const std::size_t count = buffer.bytes / elementBytes(call.type);
  return {buffer.address(), blocks, count, caller.ranks, elementBytes(call.type)};
}

/// That the blocks of an output lie apart, and apart from the input's unless the call is in place.
Status checkBlocks(const Memory& memory, const CollectiveCall& call, Caller caller) {
  if (!memory.recv.used) return {};
  const BlocksInMemory output = inMemory(memory.recv, call.recvBlocks, call, caller);
  if (const auto within = findOverlapWithin(output)) {
    return Status::invalidArgument(
        "the recv blocks of ranks {} and {} overlap; give each elements of its own", within->first,
        within->second);
  }
  const Status apart = checkOverlap(memory);
  if (apart.ok() || !memory.send.used) return apart;
  // The buffers as a whole overlap, but blocks may lie between each other.
  const auto shared = findOverlap(inMemory(memory.send, call.sendBlocks, call, caller), output);
  if (!shared.has_value()) return {};
  const bool manySent = call.sendBlocks.counts != nullptr;
  const bool manyReceived = call.recvBlocks.counts != nullptr;
  return Status::invalidArgument(
      "{}{}{}: {}", manySent ? fmt::format("the send block of rank {}", shared->first) : "send",
      manyReceived ? fmt::format(" and the recv block of rank {}", shared->second) : " and recv",
      " overlap", apart.message());
}

Status check(const RawVariedCall& raw,
             Caller caller,
             const ReductionTable& reductions,
             CollectiveCall& call) {
  const Result<ElementKind> kind = describeKind(raw, caller, reductions, call);
  RONDO_RETURN_IF_ERROR(kind.status());
  call.varied = true;
  call.root = raw.root;
  const Result<Memory> memory =
      layOutBlocks(kind->pairs ? inParts(raw, *kind, caller, call) : raw, caller, call);
  RONDO_RETURN_IF_ERROR(memory.status());
  RONDO_RETURN_IF_ERROR(checkBuffer(memory->send, call.type));
  RONDO_RETURN_IF_ERROR(checkBuffer(memory->recv, call.type));
  RONDO_RETURN_IF_ERROR(checkBlocks(*memory, call, caller));
  call.send = memory->send.used ? raw.send : nullptr;
  call.recv = memory->recv.used ? raw.recv : nullptr;
  return {};
}

// Messages.

Status checkPeer(int peer, int ranks) {
  if (peer >= 0 && peer < ranks) return {};
  return Status::invalidArgument("peer {} is no rank; pass 0 to {}", peer, ranks - 1);
}

Status checkTag(int tag) {
  if (tag >= 0 && tag <= RONDO_MAX_TAG) return {};
  return Status::invalidArgument("tag {}; pass 0 to RONDO_MAX_TAG, {}", tag, RONDO_MAX_TAG);
}

Status checkMessageCount(std::size_t count, DataType type) {
  RONDO_RETURN_IF_ERROR(checkCount(count, type, 1));
  if (count <= host::MessageLabel::kMostCount) return {};
  return Status::invalidArgument("count {} is more than one message takes; pass {} at most", count,
                                 host::MessageLabel::kMostCount);
}

Status check(const RawMessage& raw, Caller caller, MessageCall& call) {
  const Result<ElementKind> kind = readType(raw.type);
  RONDO_RETURN_IF_ERROR(kind.status());
  call.type = kind->type;
  call.pairs = kind->pairs;
  RONDO_RETURN_IF_ERROR(checkPeer(raw.peer, caller.ranks));
  RONDO_RETURN_IF_ERROR(checkTag(raw.tag));
  call.count = kind->parts(raw.count);
  RONDO_RETURN_IF_ERROR(checkMessageCount(call.count, call.type));
  const Buffer buffer{raw.sends ? "send" : "recv", raw.sends ? raw.source : raw.target,
                      call.bytes(), raw.count > 0};
  RONDO_RETURN_IF_ERROR(checkBuffer(buffer, call.type));
  call.sends = raw.sends;
  call.peer = raw.peer;
  call.tag = raw.tag;
  call.source = buffer.used ? raw.source : nullptr;
  call.target = buffer.used ? raw.target : nullptr;
  return {};
}

}  // namespace

Result<CollectiveCall> checkArguments(const RawVariedCall& raw,
                                      Caller caller,
                                      const ReductionTable& reductions) {
  CollectiveCall call;
  Status status = check(raw, caller, reductions, call);
  if (status.ok()) return call;
  return std::move(status).withContext(
      fmt::format("rank {} {}_v", caller.rank, collectiveName(raw.collective)));
}

Result<MessageCall> checkMessage(const RawMessage& raw, Caller caller) {
  MessageCall call;
  Status status = check(raw, caller, call);
  if (status.ok()) return call;
  return std::move(status).withContext(
      fmt::format("rank {} {}", caller.rank, raw.sends ? "send" : "recv"));
}

Result<CollectiveCall> checkArguments(const RawCall& raw,
                                      Caller caller,
                                      const ReductionTable& reductions) {
  CollectiveCall call;
  Status status = describe(raw, caller, reductions, call);
  if (status.ok()) status = checkBuffers(raw, caller, call);
  if (status.ok()) return call;
  return std::move(status).withContext(
      fmt::format("rank {} {}", caller.rank, collectiveName(raw.collective)));
}

Result<CollectiveCall> checkDescription(const RawCall& raw,
                                        Caller caller,
                                        const ReductionTable& reductions) {
  CollectiveCall call;
  Status status = describe(raw, caller, reductions, call);
  if (status.ok()) return call;
  return std::move(status).withContext(
      fmt::format("rank {} {}", caller.rank, collectiveName(raw.collective)));
}

}  // namespace rondo
