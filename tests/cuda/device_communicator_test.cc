// Device communicators by the C API on emulated GPUs, through the driver double: operations on
// streams, what can be wrong with a call, graphs, and every call of the driver that fails.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/rondo.h"
#include "src/cuda/driver.h"
#include "tests/cuda/device_floats.h"
#include "tests/cuda/device_team.h"
#include "tests/cuda/driver_double/controls.h"

namespace rondo::testing {
namespace {

using cuda::DevicePointer;
using cuda::Stream;
using ::testing::AllOf;
using ::testing::HasSubstr;

class DeviceCommunicators : public ::testing::TestWithParam<std::vector<int>> {};

TEST_P(DeviceCommunicators, AddAndGoOnAdding) {
  Team team(GetParam());
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{100000}}) {
      DeviceFloats values(count);
      values.fill(static_cast<float>(rank + 1));
      // In place, twice: the second one adds what the first has made.
      for (int round = 0; round < 2; ++round) {
        ASSERT_EQ(rondoAllReduce(values.data(), values.data(), count, rondoFloat32, rondoSum, comm,
                                 stream),
                  rondoSuccess)
            << rondoGetLastError(comm);
      }
      ASSERT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
      const int ranks = team.ranks();
      const auto sum = static_cast<float>(ranks * (ranks + 1) / 2 * ranks);
      ASSERT_EQ(values.values(), std::vector<float>(count, sum)) << "rank " << rank;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Devices,
                         DeviceCommunicators,
                         ::testing::Values(std::vector<int>{0},
                                           std::vector<int>{0, 0},
                                           std::vector<int>{0, 1},
                                           std::vector<int>{0, 0, 0, 0},
                                           std::vector<int>{0, 0, 1},
                                           std::vector<int>{3, 1, 2}));

TEST(DeviceCommunicator, WithoutPeerAccessGoesThroughTheHost) {
  rondoDoublePeerAccess(0);
  {
    Team team({0, 1});
    team.run([&](int rank, rondoComm_t comm, Stream stream) {
      DeviceFloats values(5000);
      values.fill(static_cast<float>(rank + 1));
      ASSERT_EQ(
          rondoAllReduce(values.data(), values.data(), 5000, rondoFloat32, rondoSum, comm, stream),
          rondoSuccess);
      ASSERT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
      EXPECT_EQ(values.values(), std::vector<float>(5000, 3));
    });
  }
  rondoDoublePeerAccess(1);
}

TEST(DeviceCommunicator, RefusesHostMemoryAndForeignStreams) {
  Team team({0, 1});
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    DeviceFloats device(8);
    std::vector<float> host(8);
    const auto sum = [&](const float* send, float* recv, Stream on) {
      return rondoAllReduce(send, recv, 8, rondoFloat32, rondoSum, comm, on);
    };
    EXPECT_EQ(sum(host.data(), device.data(), stream), rondoInvalidArgument);
    EXPECT_THAT(rondoGetLastError(comm), AllOf(HasSubstr("send"), HasSubstr("host memory"),
                                               HasSubstr("CUDA device " + std::to_string(rank))));
    EXPECT_EQ(sum(device.data(), host.data(), stream), rondoInvalidArgument);
    EXPECT_THAT(rondoGetLastError(comm), HasSubstr("recv"));
    {
      const OnDevice other(1 - rank);
      Stream foreign = nullptr;
      ASSERT_EQ(driver().streamCreate(&foreign, 0), cuda::kSuccess);
      EXPECT_EQ(sum(device.data(), device.data(), foreign), rondoInvalidArgument);
      EXPECT_THAT(rondoGetLastError(comm), HasSubstr("belongs to another device"));
      EXPECT_EQ(driver().streamDestroy(foreign), cuda::kSuccess);
      DeviceFloats elsewhere(8);
      EXPECT_EQ(sum(elsewhere.data(), device.data(), stream), rondoInvalidArgument);
      EXPECT_THAT(rondoGetLastError(comm), HasSubstr("memory of CUDA device"));
    }
    device.fill(2);
    EXPECT_EQ(sum(device.data(), device.data(), stream), rondoSuccess);
    ASSERT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
    EXPECT_EQ(device.values(), std::vector<float>(8, 4));
  });
}

TEST(DeviceCommunicator, NamesBothCallsOfAMismatch) {
  for (const std::vector<int>& devices : {std::vector<int>{0, 1}, std::vector<int>{0, 0}}) {
    Team team(devices);
    team.run([&](int rank, rondoComm_t comm, Stream stream) {
      DeviceFloats values(64);
      const std::size_t count = rank == 0 ? 64 : 32;
      rondoResult_t result =
          rondoAllReduce(values.data(), values.data(), count, rondoFloat32, rondoSum, comm, stream);
      ASSERT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
      while (result == rondoSuccess)
        ASSERT_EQ(rondoCommGetAsyncError(comm, &result), rondoSuccess);
      EXPECT_EQ(result, rondoMismatch);
      EXPECT_THAT(rondoGetLastError(comm), AllOf(HasSubstr("count 64"), HasSubstr("count 32")));
    });
  }
}

TEST(DeviceCommunicator, AnAbsentRankIsNamedAtTheTimeout) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.operationTimeoutMs = 300;
  Team team({0, 1}, &config);
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    DeviceFloats values(64);
    const auto sum = [&] {
      return rondoAllReduce(values.data(), values.data(), 64, rondoFloat32, rondoSum, comm, stream);
    };
    ASSERT_EQ(sum(), rondoSuccess);
    ASSERT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
    if (rank == 1) return;
    ASSERT_EQ(sum(), rondoSuccess);  // queued; its kernel waits
    ASSERT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
    rondoResult_t result = rondoSuccess;
    ASSERT_EQ(rondoCommGetAsyncError(comm, &result), rondoSuccess);
    EXPECT_EQ(result, rondoTimeout);
    EXPECT_THAT(rondoGetLastError(comm), AllOf(HasSubstr("rank 1"), HasSubstr("has not called")));
  });
}

TEST(DeviceCommunicator, AbortEndsAKernelThatWaits) {
  Team team({0, 1});
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    DeviceFloats values(64);
    const auto sum = [&] {
      return rondoAllReduce(values.data(), values.data(), 64, rondoFloat32, rondoSum, comm, stream);
    };
    ASSERT_EQ(sum(), rondoSuccess);
    ASSERT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
    if (rank == 1) return;
    ASSERT_EQ(sum(), rondoSuccess);
    EXPECT_EQ(rondoCommAbort(comm), rondoSuccess);
    ASSERT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
    EXPECT_EQ(sum(), rondoAborted);
  });
}

TEST(DeviceCommunicator, GraphsReplayBetweenEagerCalls) {
  Team team({0, 1});
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    DeviceFloats values(3000);
    values.fill(1);
    const auto sum = [&] {
      return rondoAllReduce(values.data(), values.data(), 3000, rondoFloat32, rondoSum, comm,
                            stream);
    };
    rondoDoubleBeginCapture(stream);
    EXPECT_EQ(sum(), rondoInvalidUsage);
    EXPECT_THAT(rondoGetLastError(comm), HasSubstr("warm up"));
    rondoDoubleEndCapture(stream);
    ASSERT_EQ(sum(), rondoSuccess);  // 2
    rondoDoubleBeginCapture(stream);
    ASSERT_EQ(sum(), rondoSuccess);  // not run
    rondoDoubleEndCapture(stream);
    for (int round = 0; round < 3; ++round)
      rondoDoubleReplay(stream);     // 16
    ASSERT_EQ(sum(), rondoSuccess);  // 32
    rondoDoubleReplay(stream);       // 64
    ASSERT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
    EXPECT_EQ(values.values(), std::vector<float>(3000, 64)) << "rank " << rank;
  });
}

TEST(DeviceCommunicator, SaysWhichDevicesThereAre) {
  std::array<rondoComm_t, 2> comms{};
  const std::array<int, 2> devices = {0, 99};
  EXPECT_EQ(rondoCommInitAllOnDevices(comms.data(), 2, devices.data(), nullptr),
            rondoInvalidArgument);
  EXPECT_THAT(rondoGetLastError(nullptr),
              AllOf(HasSubstr("rank 1"), HasSubstr("CUDA device 99"), HasSubstr("0 to 7")));
  EXPECT_EQ(rondoCommInitAllOnDevices(comms.data(), 2, nullptr, nullptr), rondoInvalidArgument);
}

/// Two ranks make a communicator and add, in whatever way that ends.
class FirstCall {
 public:
  explicit FirstCall(std::array<int, 2> devices) : devices_(devices) {
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      const OnDevice on(devices_[rank]);
      EXPECT_EQ(driver().memoryAllocate(&memory_[rank], kCount * sizeof(float)), cuda::kSuccess);
      EXPECT_EQ(driver().primaryContextRetain(&contexts_[rank], devices_[rank]), cuda::kSuccess);
    }
  }

  ~FirstCall() {
    for (const DevicePointer memory : memory_)
      EXPECT_EQ(driver().memoryFree(memory), cuda::kSuccess);
  }

  FirstCall(const FirstCall&) = delete;
  FirstCall& operator=(const FirstCall&) = delete;
  FirstCall(FirstCall&&) = delete;
  FirstCall& operator=(FirstCall&&) = delete;

  /// What went wrong; empty: nothing.
  std::string make() {
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.operationTimeoutMs = 2000;
    std::array<rondoComm_t, kRanks> comms{};
    if (rondoCommInitAllOnDevices(comms.data(), kRanks, devices_.data(), &config) != rondoSuccess)
      return rondoGetLastError(nullptr);
    std::array<std::string, kRanks> faults;
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < kRanks; ++rank)
      threads.emplace_back([&, rank] { faults[rank] = add(rank, comms[rank]); });
    for (std::thread& thread : threads)
      thread.join();
    for (const rondoComm_t comm : comms)
      EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
    return faults[0] + faults[1];
  }

 private:
  static constexpr std::size_t kRanks = 2;
  static constexpr std::size_t kCount = 16;

  std::string add(std::size_t rank, rondoComm_t comm) {
    (void)driver().contextPush(contexts_[rank]);
    auto* values = reinterpret_cast<float*>(memory_[rank]);
    std::string fault;
    if (rondoAllReduce(values, values, kCount, rondoFloat32, rondoSum, comm, nullptr) !=
        rondoSuccess) {
      fault = rondoGetLastError(comm);
    }
    (void)driver().streamSynchronize(nullptr);
    cuda::Context context = nullptr;
    (void)driver().contextPop(&context);
    return fault;
  }

  std::array<int, kRanks> devices_;
  std::array<cuda::Context, kRanks> contexts_{};
  std::array<DevicePointer, kRanks> memory_{};
};

/// A function of the driver, and the call of it from which on failing only costs a detour, since it
/// is one by which devices try to reach each other.
struct DriverCall {
  const char* symbol;
  int triesFrom = 1000;
};

/// Every function of the driver that making a communicator and a first call use fails once, at its
/// first, second, third ... call: an error that says what the driver said, and nothing leaks.
void expectEveryFailureToBeTold(std::array<int, 2> devices,
                                const std::vector<DriverCall>& driverCalls) {
  FirstCall call(devices);
  ASSERT_EQ(call.make(), "");
  const int before = rondoDoubleObjects();
  for (const auto& [symbol, triesFrom] : driverCalls) {
    const int callsBefore = rondoDoubleCalls(symbol);
    ASSERT_EQ(call.make(), "");
    const int calls = rondoDoubleCalls(symbol) - callsBefore;
    EXPECT_GT(calls, 0) << symbol;
    for (int nth = 1; nth <= std::min(calls, 16); ++nth) {
      rondoDoubleFailCall(symbol, nth, cuda::kOutOfMemory);
      const std::string fault = call.make();
      if (nth < triesFrom) {
        EXPECT_THAT(fault, HasSubstr("DOUBLE_ERROR_2")) << symbol << " call " << nth;
      } else {
        EXPECT_EQ(fault, "") << symbol << " call " << nth;
      }
      rondoDoubleFailCall(nullptr, 0, 0);
      ASSERT_EQ(rondoDoubleObjects(), before) << symbol << " call " << nth;
    }
  }
}

TEST(DeviceCommunicator, SurvivesEveryCallThatFails) {
  std::vector<DriverCall> calls = {{"cuDeviceGetCount"},
                                   {"cuDeviceGet", 3},
                                   {"cuDeviceGetAttribute"},
                                   {"cuDeviceGetUuid_v2"},
                                   {"cuDevicePrimaryCtxRetain", 3},
                                   {"cuStreamCreate"},
                                   {"cuModuleLoadData"},
                                   {"cuModuleGetFunction"},
                                   {"cuMemAlloc_v2"},
                                   {"cuMemsetD8Async"},
                                   {"cuMemcpyHtoDAsync_v2"},
                                   {"cuMemHostAlloc"},
                                   {"cuMemHostGetDevicePointer_v2"},
                                   {"cuEventCreate"},
                                   {"cuEventRecord"},
                                   {"cuLaunchKernel"},
                                   {"cuStreamIsCapturing"},
                                   {"cuStreamWaitEvent"},
                                   {"cuIpcGetMemHandle", 1}};
  expectEveryFailureToBeTold({0, 0}, calls);
  calls.insert(calls.end(), {{"cuDeviceCanAccessPeer", 1}, {"cuCtxEnablePeerAccess", 1}});
  expectEveryFailureToBeTold({0, 1}, calls);
}

TEST(DeviceCommunicator, CallsOnSeveralStreamsAreInTheOrderOfTheCalls) {
  for (const std::vector<int>& devices : {std::vector<int>{0, 1}, std::vector<int>{0, 0}}) {
    Team team(devices);
    team.run([&](int rank, rondoComm_t comm, Stream stream) {
      Stream other = nullptr;
      ASSERT_EQ(driver().streamCreate(&other, cuda::kStreamNonBlocking), cuda::kSuccess);
      DeviceFloats values(20000);
      values.fill(1);
      // In place on the same memory: each depends on the one before.
      for (int round = 0; round < 10; ++round) {
        ASSERT_EQ(rondoAllReduce(values.data(), values.data(), 20000, rondoFloat32, rondoSum, comm,
                                 round % 2 == 0 ? stream : other),
                  rondoSuccess)
            << rondoGetLastError(comm);
      }
      ASSERT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
      ASSERT_EQ(driver().streamSynchronize(other), cuda::kSuccess);
      EXPECT_EQ(values.values(), std::vector<float>(20000, 1024)) << "rank " << rank;
      EXPECT_EQ(driver().streamDestroy(other), cuda::kSuccess);
    });
  }
}

/// What would have the kernel of one rank walk through another's memory in wrong steps.
TEST(DeviceCommunicator, RanksThatShareADeviceMustMakeTheSameCall) {
  Team team({0, 0});
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    DeviceFloats values(64);
    const rondoDataType_t type = rank == 0 ? rondoUint8 : rondoFloat64;
    const rondoResult_t result =
        rondoAllReduce(values.data(), values.data(), 32, type, rondoSum, comm, stream);
    EXPECT_EQ(result, rondoMismatch);
    EXPECT_THAT(rondoGetLastError(comm), AllOf(HasSubstr("uint8"), HasSubstr("double")));
  });
}

/// The difference lies further back than the records remember when it is looked for.
TEST(DeviceCommunicator, ADifferenceLongAgoIsStillAnError) {
  Team team({0, 1});
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    DeviceFloats values(64);
    rondoResult_t result = rondoSuccess;
    for (int call = 0; call < 30 && result == rondoSuccess; ++call) {
      const rondoDataType_t type = call == 3 && rank == 1 ? rondoInt32 : rondoFloat32;
      result = rondoAllReduce(values.data(), values.data(), 64, type, rondoSum, comm, stream);
    }
    ASSERT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
    while (result == rondoSuccess)
      ASSERT_EQ(rondoCommGetAsyncError(comm, &result), rondoSuccess);
    EXPECT_EQ(result, rondoMismatch);
  });
}

TEST(DeviceCommunicator, AbortEndsTheReplayOfAGraph) {
  Team team({0, 1});
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    DeviceFloats values(64);
    const auto sum = [&] {
      return rondoAllReduce(values.data(), values.data(), 64, rondoFloat32, rondoSum, comm, stream);
    };
    ASSERT_EQ(sum(), rondoSuccess);
    ASSERT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
    if (rank == 1) return;
    rondoDoubleBeginCapture(stream);
    ASSERT_EQ(sum(), rondoSuccess);
    rondoDoubleEndCapture(stream);
    rondoDoubleReplay(stream);  // rank 1 never comes
    EXPECT_EQ(rondoCommAbort(comm), rondoSuccess);
    ASSERT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
  });
}

/// Read anew by each operation, after what is on its stream.
TEST(DeviceCommunicator, AFactorMayStayInMemoryOfTheDevice) {
  Team team({0, 1});
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    DeviceFloats factor(1);
    DeviceFloats values(10);
    rondoRedOp_t op{};
    ASSERT_EQ(rondoRedOpCreatePreMulSum(&op, factor.data(), rondoFloat32, rondoScalarDevice, comm),
              rondoSuccess);
    for (const float each : {2.0F, 5.0F}) {
      factor.fill(each);
      values.fill(static_cast<float>(rank + 1));
      ASSERT_EQ(rondoAllReduce(values.data(), values.data(), 10, rondoFloat32, op, comm, stream),
                rondoSuccess)
          << rondoGetLastError(comm);
      ASSERT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
      EXPECT_EQ(values.values(), std::vector<float>(10, 3 * each));
    }
    EXPECT_EQ(rondoRedOpDestroy(op, comm), rondoSuccess);
    // A factor in memory of the host is refused when it is read.
    const float host = 2.0F;
    ASSERT_EQ(rondoRedOpCreatePreMulSum(&op, &host, rondoFloat32, rondoScalarDevice, comm),
              rondoSuccess);
    EXPECT_EQ(rondoAllReduce(values.data(), values.data(), 10, rondoFloat32, op, comm, stream),
              rondoInvalidArgument);
    EXPECT_THAT(rondoGetLastError(comm), HasSubstr("scalar"));
    EXPECT_EQ(rondoRedOpDestroy(op, comm), rondoSuccess);
  });
}

TEST(DeviceCommunicator, SumsComplexNumbersAndRefusesFunctions) {
  Team team({0, 1});
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    DeviceFloats values(20);
    values.fill(static_cast<float>(rank + 1));
    ASSERT_EQ(
        rondoAllReduce(values.data(), values.data(), 10, rondoComplex64, rondoSum, comm, stream),
        rondoSuccess)
        << rondoGetLastError(comm);
    ASSERT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
    EXPECT_EQ(values.values(), std::vector<float>(20, 3.0F));
    const auto nothing = [](void*, const void*, std::size_t, rondoDataType_t, void*) {};
    rondoRedOp_t op{};
    EXPECT_EQ(rondoRedOpCreateUser(&op, nothing, 1, nullptr, comm), rondoNotSupported);
  });
}

/// One thread drives ranks that wait for each other in their first call: here it does not.
TEST(DeviceCommunicator, CallsThatDoNotWaitAreOnTheirStreamsInTheEnd) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.blocking = 0;
  Team team({0, 1}, &config);
  for (const bool grouped : {false, true}) {
    std::array<Stream, 2> streams{};
    std::array<std::unique_ptr<DeviceFloats>, 2> values;
    if (grouped) {
      ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    }
    for (int rank = 0; rank < 2; ++rank) {
      const OnDevice on(rank);
      const auto place = static_cast<std::size_t>(rank);
      ASSERT_EQ(driver().streamCreate(&streams[place], cuda::kStreamNonBlocking), cuda::kSuccess);
      values[place] = std::make_unique<DeviceFloats>(100);
      values[place]->fill(static_cast<float>(rank + 1));
      ASSERT_EQ(rondoAllReduce(values[place]->data(), values[place]->data(), 100, rondoFloat32,
                               rondoSum, team.comm(rank), streams[place]),
                grouped ? rondoSuccess : rondoInProgress);
    }
    if (grouped) {
      ASSERT_EQ(rondoGroupEnd(), rondoInProgress);
    }
    for (int rank = 0; rank < 2; ++rank) {
      const OnDevice on(rank);
      const auto place = static_cast<std::size_t>(rank);
      EXPECT_EQ(rondoCommSynchronize(team.comm(rank)), rondoSuccess)
          << rondoGetLastError(team.comm(rank));
      EXPECT_EQ(driver().streamSynchronize(streams[place]), cuda::kSuccess);
      EXPECT_EQ(values[place]->values(), std::vector<float>(100, 3.0F));
      EXPECT_EQ(driver().streamDestroy(streams[place]), cuda::kSuccess);
      values[place].reset();
    }
  }
}

/// Kernels are loaded, connections made, by all ranks; the call itself then meets nobody.
TEST(DeviceCommunicator, CanBeWarmedUp) {
  Team team({0, 1});
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    ASSERT_EQ(rondoCommWarmUp(comm, "all_reduce", 64, rondoFloat32, rondoSum, 0), rondoSuccess)
        << rondoGetLastError(comm);
    rondoCallPlan_t plan{};
    plan.size = sizeof plan;
    ASSERT_EQ(rondoCommQuery(comm, "all_reduce", 64, rondoFloat32, rondoSum, 0, &plan),
              rondoSuccess);
    EXPECT_STREQ(plan.transports, "cuda_ipc");
    DeviceFloats values(64);
    values.fill(static_cast<float>(rank + 1));
    ASSERT_EQ(
        rondoAllReduce(values.data(), values.data(), 64, rondoFloat32, rondoSum, comm, stream),
        rondoSuccess);
    ASSERT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
    EXPECT_EQ(values.values(), std::vector<float>(64, 3.0F));
  });
}

}  // namespace
}  // namespace rondo::testing
