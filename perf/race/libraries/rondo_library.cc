#include "perf/race/libraries/rondo_library.h"

#include "perf/race/harness/failure.h"

namespace rondo::race {

namespace {

rondoDataType_t rondoType(DataType type) {
  if (type == DataType::kBfloat16) return rondoBfloat16;
  return type == DataType::kFloat16 ? rondoFloat16 : rondoFloat32;
}

/// Sends to the next rank and receives from the one before, as one group.
rondoResult_t exchangeWithNeighbours(const Work& work, rondoDataType_t type, rondoComm_t comm) {
  requireSuccess(rondoGroupStart());
  requireSuccess(rondoSend(work.send, work.count, type, work.next(), comm, nullptr));
  requireSuccess(rondoRecv(work.recv, work.count, type, work.previous(), comm, nullptr));
  return rondoGroupEnd();
}

}  // namespace

void requireSuccess(rondoResult_t result) {
  if (result != rondoSuccess) fail(rondoGetLastError(nullptr));
}

rondoComm_t joinRanks(Meeting& meeting) {
  rondoUniqueId_t ids[Meeting::kMostRanks];
  rondoUniqueId_t id{};
  if (meeting.rank() == 0) requireSuccess(rondoGetUniqueId(&id));
  meeting.allGather(&id, ids, sizeof id);
  rondoComm_t communicator = nullptr;
  requireSuccess(
      rondoCommInitRank(&communicator, meeting.ranks(), ids[0], meeting.rank(), nullptr));
  return communicator;
}

RondoLibrary::~RondoLibrary() {
  rondoCommDestroy(communicator_);
  for (void* const memory : allocated_)
    rondoMemFree(memory);
}

std::byte* RondoLibrary::allocate(std::size_t bytes) {
  if (source_ == BufferSource::kProgram) return Library::allocate(bytes);
  void* memory = nullptr;
  requireSuccess(rondoMemAlloc(&memory, bytes, -1));
  allocated_.push_back(memory);
  return static_cast<std::byte*>(memory);
}

void RondoLibrary::run(const Work& work) {
  const rondoDataType_t type = rondoType(work.type);
  const auto call = [&] {
    switch (work.operation) {
      case Operation::kAllReduce:
        return rondoAllReduce(work.send, work.recv, work.count, type, rondoSum, communicator_,
                              nullptr);
      case Operation::kReduceScatter:
        return rondoReduceScatter(work.send, work.recv, work.blockCount, type, rondoSum,
                                  communicator_, nullptr);
      case Operation::kAllGather:
        return rondoAllGather(work.send, work.recv, work.blockCount, type, communicator_, nullptr);
      case Operation::kBroadcast:
        return rondoBroadcast(work.send, work.recv, work.count, type, Work::kRoot, communicator_,
                              nullptr);
      case Operation::kReduce:
        return rondoReduce(work.send, work.recv, work.count, type, rondoSum, Work::kRoot,
                           communicator_, nullptr);
      case Operation::kAllToAll:
        return rondoAllToAll(work.send, work.recv, work.blockCount, type, communicator_, nullptr);
      case Operation::kSendRecv:
        return exchangeWithNeighbours(work, type, communicator_);
    }
    return rondoNotSupported;
  };
  requireSuccess(call());
}

}  // namespace rondo::race
