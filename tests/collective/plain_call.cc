#include "tests/collective/plain_call.h"

#include <cstdint>
#include <vector>

namespace rondo::testing {

rondoResult_t make(const Call& call, rondoComm_t comm) {
  constexpr std::size_t kMostBytes = 1 << 20;
  std::vector<std::uint64_t> send(kMostBytes / 8);
  std::vector<std::uint64_t> recv(kMostBytes / 8);
  switch (call.collective) {
    case Collective::kAllReduce:
      return rondoAllReduce(send.data(), recv.data(), call.count, call.type, call.op, comm,
                            nullptr);
    case Collective::kReduceScatter:
      return rondoReduceScatter(send.data(), recv.data(), call.count, call.type, call.op, comm,
                                nullptr);
    case Collective::kAllGather:
      return rondoAllGather(send.data(), recv.data(), call.count, call.type, comm, nullptr);
    case Collective::kBroadcast:
      return rondoBroadcast(send.data(), recv.data(), call.count, call.type, call.root, comm,
                            nullptr);
    case Collective::kReduce:
      return rondoReduce(send.data(), recv.data(), call.count, call.type, call.op, call.root, comm,
                         nullptr);
    case Collective::kBarrier:
      return rondoBarrier(comm, nullptr);
    case Collective::kAllToAll:
      return rondoAllToAll(send.data(), recv.data(), call.count, call.type, comm, nullptr);
    case Collective::kGather:
      return rondoGather(send.data(), recv.data(), call.count, call.type, call.root, comm, nullptr);
    case Collective::kScatter:
      return rondoScatter(send.data(), recv.data(), call.count, call.type, call.root, comm,
                          nullptr);
  }
  return rondoInternalError;
}

}  // namespace rondo::testing
