// oneCCL, its C++ interface for host memory.
#include <cstring>
#include <vector>

#include <oneapi/ccl.hpp>

#include "perf/race/harness/failure.h"
#include "perf/race/harness/launch.h"

namespace rondo::race {

namespace {

ccl::communicator join(Meeting& meeting) {
  ccl::init();
  ccl::kvs::address_type addresses[Meeting::kMostRanks];
  ccl::kvs::address_type address{};
  ccl::shared_ptr_class<ccl::kvs> store;
  if (meeting.rank() == 0) {
    store = ccl::create_main_kvs();
    address = store->get_address();
  }
  meeting.allGather(&address, addresses, sizeof address);
  if (meeting.rank() != 0) store = ccl::create_kvs(addresses[0]);
  return ccl::create_communicator(meeting.ranks(), meeting.rank(), store);
}

ccl::datatype typeOf(const Work& work) {
  if (work.type == DataType::kBfloat16) return ccl::datatype::bfloat16;
  return work.type == DataType::kFloat16 ? ccl::datatype::float16 : ccl::datatype::float32;
}

class OneCcl final : public Library {
 public:
  explicit OneCcl(Meeting& meeting) : communicator_(join(meeting)) {}

  /// Its send and receive crash on host memory (2022.1.2).
  bool supports(const Work& work) const override { return work.operation != Operation::kSendRecv; }

  void run(const Work& work) override {
    const ccl::datatype type = typeOf(work);
    constexpr auto kSum = ccl::reduction::sum;
    switch (work.operation) {
      case Operation::kAllReduce:
        ccl::allreduce(work.send, work.recv, work.count, type, kSum, communicator_).wait();
        return;
      case Operation::kReduceScatter:
        ccl::reduce_scatter(work.send, work.recv, work.blockCount, type, kSum, communicator_)
            .wait();
        return;
      case Operation::kAllGather:
        ccl::allgather(work.send, work.recv, work.blockCount, type, communicator_).wait();
        return;
      case Operation::kBroadcast:
        // In place only; see mpi.cc.
        if (work.isRoot() && !work.inPlace) std::memcpy(work.recv, work.send, work.bytes());
        ccl::broadcast(work.recv, work.count, type, Work::kRoot, communicator_).wait();
        return;
      case Operation::kReduce:
        ccl::reduce(work.send, work.recv, work.count, type, kSum, Work::kRoot, communicator_)
            .wait();
        return;
      case Operation::kAllToAll:
        ccl::alltoall(work.send, work.recv, work.blockCount, type, communicator_).wait();
        return;
      case Operation::kSendRecv:
        fail("oneCCL was asked for what it does not support");
    }
  }

 private:
  ccl::communicator communicator_;
};

}  // namespace

}  // namespace rondo::race

int main(int argc, char** argv) {
  namespace race = rondo::race;
  return race::raceProcesses(argc, argv, race::Waiting::kSpin, [](race::Meeting& meeting) {
    return std::make_unique<race::OneCcl>(meeting);
  });
}
