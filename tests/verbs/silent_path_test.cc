// Ranks that are processes, with several connections between them, of which one leads nowhere: all
// of them learn which, and why.
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/multiprocess/every_collective.h"
#include "tests/multiprocess/forked_ranks.h"

namespace rondo::testing {
namespace {

constexpr int kRanks = 3;

/// Two channels over two adapters, of which the second loses what it sends; adapters give up after
/// 134 ms.
rondoComm_t joinByASilentPath(int rank, const rondoUniqueId_t& id) {
  for (const auto& [name, value] : {std::pair{"RONDO_TRANSPORT", "verbs"},
                                    {"RONDO_CHANNELS", "2"},
                                    {"RONDO_IB_TIMEOUT", "12"},
                                    {"RONDOTEST_VERBS_SILENT", "rdma1"}})
    ::setenv(name, value, 1);  // NOLINT(concurrency-mt-unsafe): a forked child has one thread
  return joinOrExit(kRanks, rank, id);
}

/// The error of `call` on every rank.
void expectErrorsOf(rondoResult_t (*call)(rondoComm_t comm, float* data, std::size_t count)) {
  ForkedRanks processes(kRanks, [call](int rank, const rondoUniqueId_t& id) {
    const rondoComm_t comm = joinByASilentPath(rank, id);
    std::vector<float> data(1 << 18);
    const int wrong = expectFailure(comm, call(comm, data.data(), data.size()), rondoSystemError,
                                    {"rdma1 port 1 to rank ", "transport retry counter exceeded",
                                     "the peer's adapter does not answer"});
    (void)rondoCommDestroy(comm);
    return wrong;
  });
  processes.expectSuccess();
}

TEST(SilentPath, EndsAnAllReduce) {
  expectErrorsOf([](rondoComm_t comm, float* data, std::size_t count) {
    return rondoAllReduce(data, data, count, rondoFloat32, rondoSum, comm, nullptr);
  });
}

/// Its root only sends.
TEST(SilentPath, EndsABroadcast) {
  expectErrorsOf([](rondoComm_t comm, float* data, std::size_t count) {
    return rondoBroadcast(data, data, count, rondoFloat32, 0, comm, nullptr);
  });
}

}  // namespace
}  // namespace rondo::testing
