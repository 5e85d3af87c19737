// Ranks that are processes, each with an emulated GPU: memory of one opened by the others, what is
// done instead where that cannot be, and in which order it goes in the end.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/rondo.h"
#include "tests/cuda/device_floats.h"
#include "tests/cuda/driver_double/controls.h"
#include "tests/multiprocess/forked_ranks.h"

namespace rondo::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kOnHost = -1;

void setVariable(const char* name, const std::string& value) {
  ::setenv(name, value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): no other thread yet
}

/// The communicator of a rank on a device, or null.
rondoComm_t join(int ranks, int rank, const rondoUniqueId_t& id, int device) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.operationTimeoutMs = 10000;
  config.initTimeoutMs = 10000;
  config.device = device;
  config.logLevel = "info";
  rondoComm_t comm = nullptr;
  (void)rondoCommInitRank(&comm, ranks, id, rank, &config);
  return comm;
}

/// Sums of some sizes, in lines and in slots, several under way on one stream.
/// @return what went wrong; empty: nothing
std::string sumSome(rondoComm_t comm, int ranks, int rank, int device) {
  const OnDevice on(device);
  TestStream stream;
  for (const std::size_t count : {5, 20000, 100000}) {
    DeviceFloats values(count);
    values.fill(static_cast<float>(rank + 1));
    float expected = static_cast<float>(ranks * (ranks + 1)) / 2;
    for (int round = 0; round < 3; ++round) {
      if (rondoAllReduce(values.data(), values.data(), count, rondoFloat32, rondoSum, comm,
                         stream.get()) != rondoSuccess) {
        stream.synchronize();
        return rondoGetLastError(comm);
      }
      if (round > 0) expected *= static_cast<float>(ranks);
    }
    stream.synchronize();
    if (rondoResult_t failure = rondoSuccess;
        rondoCommGetAsyncError(comm, &failure) != rondoSuccess || failure != rondoSuccess) {
      return std::string("asynchronous error: ") + rondoGetErrorString(failure);
    }
    if (values.values() != std::vector<float>(count, expected)) return "a wrong sum";
  }
  return {};
}

/// Whether `comm` says that a transport of that name leads to all others.
bool reachesAllBy(const std::string& transport, rondoComm_t comm, int ranks, int rank) {
  bool all = true;
  for (int peer = 0; peer < ranks; ++peer) {
    const char* name = nullptr;
    all &= rondoCommGetTransport(comm, peer, &name) == rondoSuccess;
    all &= name == (peer == rank ? "self" : transport);
  }
  return all;
}

/// The usual life of a rank. @return its exit status
int sumAndLeave(int ranks,
                int rank,
                const rondoUniqueId_t& id,
                int device,
                const std::string& transport = "cuda_ipc") {
  rondoComm_t comm = join(ranks, rank, id, device);
  if (comm == nullptr) return 2;
  if (!transport.empty() && !reachesAllBy(transport, comm, ranks, rank)) return 5;
  const std::string fault = sumSome(comm, ranks, rank, device);
  std::fprintf(stderr, "rank %d: %s\n", rank, fault.c_str());
  if (rondoCommDestroy(comm) != rondoSuccess) return 3;
  return fault.empty() ? 0 : 4;
}

const std::string kDetour = "cannot use each other's GPU memory";

TEST(DeviceProcesses, UseEachOthersMemory) {
  const RankLogs logs;
  ForkedRanks ranks(3, [&](int rank, const rondoUniqueId_t& id) {
    logs.capture(rank);
    return sumAndLeave(3, rank, id, rank);
  });
  ranks.expectSuccess();
  EXPECT_THAT(logs.linesWith(" warn "), IsEmpty());
  EXPECT_THAT(logs.linesWith("left to other processes"), IsEmpty());
}

TEST(DeviceProcesses, MaySeeDifferentDevices) {
  ForkedRanks ranks(2, [](int rank, const rondoUniqueId_t& id) {
    setVariable("RONDOTEST_GPUS", "1");
    setVariable("RONDOTEST_FIRST_GPU", std::to_string(rank));
    return sumAndLeave(2, rank, id, 0);
  });
  ranks.expectSuccess();
}

TEST(DeviceProcesses, ShareADeviceWithOneWarning) {
  const RankLogs logs;
  ForkedRanks ranks(2, [&](int rank, const rondoUniqueId_t& id) {
    logs.capture(rank);
    return sumAndLeave(2, rank, id, 0);
  });
  ranks.expectSuccess();
  EXPECT_THAT(logs.linesWith("ranks 0 and 1 use the same GPU"), SizeIs(1));
}

/// Two ranks that can't use each other's memory.
class Detours : public ::testing::TestWithParam<const char*> {};

TEST_P(Detours, AreTakenByAllRanksAndSaidWithTheReason) {
  for (int odd = 0; odd < 2; ++odd) {
    const RankLogs logs;
    ForkedRanks ranks(3, [&](int rank, const rondoUniqueId_t& id) {
      logs.capture(rank);
      setVariable("RONDO_TRANSPORT", GetParam());
      // On one rank only: the others must follow.
      if (rank == odd) setVariable("RONDOTEST_FAIL_CALL", "cuIpcOpenMemHandle_v2:1:999");
      return sumAndLeave(3, rank, id, rank, "");
    });
    ranks.expectSuccess();
    EXPECT_THAT(logs.linesWith(kDetour), SizeIs(1));
    EXPECT_THAT(logs.linesWith("DOUBLE_ERROR_999"), SizeIs(1));
  }
}

INSTANTIATE_TEST_SUITE_P(Transports,
                         Detours,
                         ::testing::Values("cuda_ipc,shm", "cuda_ipc,tcp", "cuda_ipc,shm,tcp"));

TEST(DeviceProcesses, DoWithoutPeerAccess) {
  const RankLogs logs;
  ForkedRanks ranks(2, [&](int rank, const rondoUniqueId_t& id) {
    logs.capture(rank);
    setVariable("RONDOTEST_NO_PEER_ACCESS", "1");
    return sumAndLeave(2, rank, id, rank, "shm");
  });
  ranks.expectSuccess();
  EXPECT_THAT(logs.linesWith(kDetour), SizeIs(2));
}

/// The double ends a process that frees what another one has open.
TEST(DeviceProcesses, FreeNothingThatOthersHaveOpen) {
  for (const int late : {0, 1}) {
    ForkedRanks ranks(2, [late](int rank, const rondoUniqueId_t& id) {
      rondoComm_t comm = join(2, rank, id, rank);
      if (comm == nullptr || !sumSome(comm, 2, rank, rank).empty()) return 2;
      if (rank == late) std::this_thread::sleep_for(milliseconds{300});
      return rondoCommDestroy(comm) == rondoSuccess ? 0 : 3;
    });
    ranks.expectSuccess();
  }
}

/// Multiples of the scale, which are exact in int8. @return what went wrong; empty: nothing
std::string sumCompressed(rondoComm_t comm, int ranks, int device) {
  constexpr std::size_t kCount = 200 * 256;  // each block has a 127
  const OnDevice on(device);
  TestStream stream;
  DeviceFloats values(kCount);
  std::vector<float> expected(kCount);
  rondoErrorFeedback_t feedback = nullptr;
  if (rondoErrorFeedbackCreate(&feedback) != rondoSuccess) return "no feedback";
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < kCount; ++i) {
      values.data()[i] = static_cast<float>(i % 128);
      expected[i] = static_cast<float>(ranks) * values.data()[i];
    }
    rondoCompressionReport_t report = {};
    rondoCompression_t how = RONDO_COMPRESSION_INITIALIZER;
    if (round > 0) how.feedback = feedback;
    if (round < 2) how.report = &report;
    if (rondoAllReduceCompressed(values.data(), values.data(), kCount, rondoFloat32, rondoSum, &how,
                                 comm, stream.get()) != rondoSuccess)
      return rondoGetLastError(comm);
    stream.synchronize();
    if (values.values() != expected) return "a wrong sum";
    if (how.report != nullptr && (report.wireBytes == 0 || report.nonFinite != 0))
      return "a wrong report";
  }
  return rondoErrorFeedbackDestroy(feedback) == rondoSuccess ? "" : "feedback is not destroyed";
}

TEST(DeviceProcesses, Compress) {
  for (const char* transports : {"cuda_ipc,shm", "shm", "tcp"}) {
    ForkedRanks ranks(3, [transports](int rank, const rondoUniqueId_t& id) {
      setVariable("RONDO_TRANSPORT", transports);
      rondoComm_t comm = join(3, rank, id, rank);
      if (comm == nullptr) return 2;
      const std::string fault = sumCompressed(comm, 3, rank);
      std::fprintf(stderr, "rank %d: %s\n", rank, fault.c_str());
      if (rondoCommDestroy(comm) != rondoSuccess) return 3;
      return fault.empty() ? 0 : 4;
    });
    ranks.expectSuccess();
  }
}

TEST(DeviceProcesses, LeaveMemoryToThoseWhoDoNotCloseIt) {
  const RankLogs logs;
  ForkedRanks ranks(2, [&](int rank, const rondoUniqueId_t& id) {
    logs.capture(rank);
    rondoComm_t comm = join(2, rank, id, rank);
    if (comm == nullptr || !sumSome(comm, 2, rank, rank).empty()) return 2;
    if (rank == 1) std::this_thread::sleep_for(milliseconds{6000});
    return rondoCommDestroy(comm) == rondoSuccess ? 0 : 3;
  });
  ranks.expectSuccess();
  EXPECT_THAT(logs.linesWith("left to other processes"), SizeIs(1));
}

TEST(DeviceProcesses, AreAllOnDevicesOrNone) {
  ForkedRanks ranks(2, [](int rank, const rondoUniqueId_t& id) {
    if (join(2, rank, id, rank == 0 ? 0 : kOnHost) != nullptr) return 2;
    const std::string message = rondoGetLastError(nullptr);
    return message.find("RONDO_DEVICE") != std::string::npos ? 0 : 3;
  });
  ranks.expectSuccess();
}

TEST(DeviceProcesses, SayWhichDeviceIsNotThere) {
  ForkedRanks ranks(1, [](int rank, const rondoUniqueId_t& id) {
    if (join(2, rank, id, 77) != nullptr) return 2;
    const std::string message = rondoGetLastError(nullptr);
    return message.find("CUDA device 77: the driver sees 8") != std::string::npos ? 0 : 3;
  });
  ranks.expectSuccess();
}

TEST(DeviceProcesses, TakeTheDeviceOfTheirLocalRank) {
  ForkedRanks ranks(1, [](int /*rank*/, const rondoUniqueId_t& /*id*/) {
    setVariable("RONDO_DEVICE", "local");
    setVariable("RANK", "0");
    setVariable("WORLD_SIZE", "1");
    setVariable("LOCAL_RANK", "3");
    setVariable("MASTER_ADDR", "127.0.0.1");
    setVariable("MASTER_PORT", "29400");
    rondoComm_t comm = nullptr;
    if (rondoCommInitFromEnvironment(&comm, nullptr) != rondoSuccess) {
      std::fprintf(stderr, "%s\n", rondoGetLastError(nullptr));
      return 2;
    }
    const std::string fault = sumSome(comm, 1, 0, 3);
    std::fprintf(stderr, "%s\n", fault.c_str());
    (void)rondoCommDestroy(comm);
    return fault.empty() ? 0 : 3;
  });
  ranks.expectSuccess();
}

/// One call of the driver fails on one rank: all ranks succeed, or all fail; nobody hangs.
TEST(DeviceProcesses, SurviveEveryCallThatFails) {
  for (const std::string symbol :
       {"cuDeviceGetUuid_v2", "cuMemAlloc_v2", "cuMemsetD8Async", "cuIpcGetMemHandle",
        "cuIpcOpenMemHandle_v2", "cuMemHostAlloc", "cuMemHostRegister_v2", "cuMemcpyHtoDAsync_v2",
        "cuEventCreate", "cuEventRecord", "cuLaunchKernel"}) {
    for (int nth = 1; nth <= 4; ++nth) {
      if (symbol == "cuMemAlloc_v2" && nth == 2) continue;  // the test's own
      SCOPED_TRACE(symbol + " call " + std::to_string(nth));
      const RankLogs logs;
      ForkedRanks ranks(2, [&](int rank, const rondoUniqueId_t& id) {
        logs.capture(rank);
        if (symbol == "cuMemHostRegister_v2") setVariable("RONDO_TRANSPORT", "shm");
        if (rank == 1)
          setVariable("RONDOTEST_FAIL_CALL", symbol + ":" + std::to_string(nth) + ":2");
        rondoComm_t comm = join(2, rank, id, rank);
        if (comm == nullptr) return 0;
        const std::string fault = sumSome(comm, 2, rank, rank);
        (void)rondoCommDestroy(comm);
        std::fprintf(stderr, "outcome %s\n", fault.empty() ? "right" : "failed");
        return fault == "a wrong sum" ? 6 : 0;
      });
      ranks.expectSuccess(milliseconds{20000});
      EXPECT_NE(logs.linesWith("outcome right").size(), 1U);
    }
  }
}

}  // namespace
}  // namespace rondo::testing
