// Any implementation of MPI: compiled once for each, with its own compiler wrapper.
#include <cstdio>
#include <cstring>

#include <mpi.h>
#include <unistd.h>

#include "perf/race/harness/failure.h"
#include "perf/race/harness/rank.h"
#include "perf/race/libraries/sum.h"

namespace rondo::race {

namespace {

/// MPI's user operation for a type that MPI does not know: inOut = in + inOut.
template <DataType kType>
void addElements(void* in, void* inOut, int* count, MPI_Datatype*) {
  const host::Operand sources[] = {{in}, {inOut}};
  const host::Target target{inOut};
  sumInto(kType, {&target, 1}, sources, static_cast<std::size_t>(*count));
}

class Mpi final : public Library {
 public:
  Mpi() {
    constexpr int kCommutes = 1;
    MPI_Op_create(addElements<DataType::kBfloat16>, kCommutes, &addBfloat16_);
    MPI_Op_create(addElements<DataType::kFloat16>, kCommutes, &addFloat16_);
  }

  bool supports(const Work&) const override { return true; }

  void run(const Work& work) override {
    if (call(work) != MPI_SUCCESS) fail("an MPI call failed");
  }

  /// In place, MPI leaves a reduce_scatter's block at the start of the buffer.
  const std::byte* result(const Work& work) const override {
    return isScatterInPlace(work) ? work.send : work.recv;
  }

 private:
  static bool isScatterInPlace(const Work& work) {
    return work.inPlace && work.operation == Operation::kReduceScatter;
  }

  MPI_Op sumOf(DataType type) const {
    if (type == DataType::kBfloat16) return addBfloat16_;
    return type == DataType::kFloat16 ? addFloat16_ : MPI_SUM;
  }

  int call(const Work& work) const {
    const MPI_Datatype type = work.type == DataType::kFloat32 ? MPI_FLOAT : MPI_UINT16_T;
    const MPI_Op sum = sumOf(work.type);
    const MPI_Comm world = MPI_COMM_WORLD;
    const void* send = work.inPlace ? MPI_IN_PLACE : work.send;
    const auto count = static_cast<int>(work.count);
    const auto blockCount = static_cast<int>(work.blockCount);
    switch (work.operation) {
      case Operation::kAllReduce:
        return MPI_Allreduce(send, work.recv, count, type, sum, world);
      case Operation::kReduceScatter:
        return MPI_Reduce_scatter_block(send, isScatterInPlace(work) ? work.send : work.recv,
                                        blockCount, type, sum, world);
      case Operation::kAllGather:
        return MPI_Allgather(send, blockCount, type, work.recv, blockCount, type, world);
      case Operation::kBroadcast:
        // MPI has no other way than in place: out of place the root copies, as any library must.
        if (work.isRoot() && !work.inPlace) std::memcpy(work.recv, work.send, work.bytes());
        return MPI_Bcast(work.recv, count, type, Work::kRoot, world);
      case Operation::kReduce:
        return MPI_Reduce(work.isRoot() ? send : work.send, work.isRoot() ? work.recv : nullptr,
                          count, type, sum, Work::kRoot, world);
      case Operation::kAllToAll:
        return MPI_Alltoall(work.send, blockCount, type, work.recv, blockCount, type, world);
      case Operation::kSendRecv: {
        constexpr int kTag = 1;
        return MPI_Sendrecv(work.send, count, type, work.next(), kTag, work.recv, count, type,
                            work.previous(), kTag, world, MPI_STATUS_IGNORE);
      }
    }
    return MPI_ERR_OTHER;
  }

  MPI_Op addBfloat16_ = MPI_OP_NULL;
  MPI_Op addFloat16_ = MPI_OP_NULL;
};

int race(const Options& options) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  SharedMemoryName meetingName;
  if (rank == 0) meetingName = Meeting::make();
  MPI_Bcast(&meetingName, sizeof meetingName, MPI_BYTE, 0, MPI_COMM_WORLD);
  Meeting meeting(meetingName, rank, ranks, Waiting::kSpin);
  Mpi library;
  return raceRank(meeting, library, options);
}

}  // namespace

}  // namespace rondo::race

int main(int argc, char** argv) {
  const rondo::race::Options options = rondo::race::parseOptions(argc, argv);
  ::alarm(options.deadlineSeconds);
  MPI_Init(&argc, &argv);
  const int status = rondo::race::race(options);
  MPI_Finalize();
  return status;
}
