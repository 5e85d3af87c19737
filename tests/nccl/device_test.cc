// NCCL's functions where there are GPUs: emulated ones, through the driver double. Which device a
// communicator and memory are on, and that operations go on its stream.
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/nccl/nccl.h"
#include "src/cuda/driver.h"
#include "src/nccl/placement.h"
#include "tests/cuda/device_floats.h"

namespace rondo::testing {
namespace {

/// The communicators of ranks that this thread makes and drives in groups.
class GroupedRanks {
 public:
  /// @param devices by rank; current while the rank's communicator is asked for
  explicit GroupedRanks(const std::vector<int>& devices) : comms_(devices.size()) {
    ncclUniqueId id;
    EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess) << ncclGetLastError(nullptr);
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    for (std::size_t rank = 0; rank < devices.size(); ++rank) {
      const OnDevice on(devices[rank]);
      EXPECT_EQ(ncclCommInitRank(&comms_[rank], static_cast<int>(devices.size()), id,
                                 static_cast<int>(rank)),
                ncclSuccess);
    }
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  }

  ~GroupedRanks() {
    for (const ncclComm_t comm : comms_)
      EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  }

  GroupedRanks(const GroupedRanks&) = delete;
  GroupedRanks& operator=(const GroupedRanks&) = delete;
  GroupedRanks(GroupedRanks&&) = delete;
  GroupedRanks& operator=(GroupedRanks&&) = delete;

  ncclComm_t comm(std::size_t rank) const { return comms_[rank]; }

 private:
  std::vector<ncclComm_t> comms_;
};

int deviceOf(ncclComm_t comm) {
  int device = -2;
  EXPECT_EQ(ncclCommCuDevice(comm, &device), ncclSuccess);
  return device;
}

TEST(NcclOnDevices, TakesTheCurrentDevice) {
  const GroupedRanks ranks({1, 0});
  EXPECT_EQ(deviceOf(ranks.comm(0)), 1);
  EXPECT_EQ(deviceOf(ranks.comm(1)), 0);
}

TEST(NcclOnDevices, WithoutACurrentDeviceItIsTheFirst) {
  EXPECT_EQ(nccl::currentDevice(), 0);
  const OnDevice on(2);
  EXPECT_EQ(nccl::currentDevice(), 2);
}

TEST(NcclOnDevices, OneThreadReducesForAllRanks) {
  const GroupedRanks ranks({0, 1});
  std::deque<DeviceFloats> values;
  for (int device : {0, 1}) {
    const OnDevice on(device);
    values.emplace_back(1000);
    values.back().fill(static_cast<float>(device + 1));
  }
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (std::size_t rank : {0, 1}) {
    const OnDevice on(static_cast<int>(rank));
    ASSERT_EQ(ncclAllReduce(values[rank].data(), values[rank].data(), 1000, ncclFloat, ncclMax,
                            ranks.comm(rank), nullptr),
              ncclSuccess);
  }
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  for (std::size_t rank : {0, 1}) {
    const OnDevice on(static_cast<int>(rank));
    ASSERT_EQ(driver().contextSynchronize(), cuda::kSuccess);
    EXPECT_EQ(values[rank].values(), std::vector<float>(1000, 2));
  }
}

TEST(NcclOnDevices, InitAllTakesTheFirstDevicesOrTheGiven) {
  ncclComm_t comms[2];
  ASSERT_EQ(ncclCommInitAll(comms, 2, nullptr), ncclSuccess) << ncclGetLastError(nullptr);
  EXPECT_EQ(deviceOf(comms[0]), 0);
  EXPECT_EQ(deviceOf(comms[1]), 1);
  for (const ncclComm_t comm : comms)
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  const int devices[] = {2, 0};
  ASSERT_EQ(ncclCommInitAll(comms, 2, devices), ncclSuccess) << ncclGetLastError(nullptr);
  EXPECT_EQ(deviceOf(comms[0]), 2);
  for (const ncclComm_t comm : comms)
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(NcclOnDevices, MemoryIsOfTheCurrentDevice) {
  for (int device : {0, 1}) {
    void* memory = nullptr;
    {
      const OnDevice on(device);
      ASSERT_EQ(ncclMemAlloc(&memory, 100), ncclSuccess) << ncclGetLastError(nullptr);
    }
    int found = -1;
    EXPECT_EQ(driver().pointerAttribute(&found, cuda::kPointerDeviceOrdinal,
                                        reinterpret_cast<cuda::DevicePointer>(memory)),
              cuda::kSuccess);
    EXPECT_EQ(found, device);
    // Whatever device is current then.
    EXPECT_EQ(ncclMemFree(memory), ncclSuccess) << ncclGetLastError(nullptr);
  }
}

TEST(NcclOnDevices, MessagesGoFromRankToRank) {
  const GroupedRanks ranks({0, 1});
  std::deque<DeviceFloats> out;
  std::deque<DeviceFloats> in;
  for (int device : {0, 1}) {
    const OnDevice on(device);
    out.emplace_back(50000);
    out.back().fill(static_cast<float>(device + 1));
    in.emplace_back(50000);
  }
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (std::size_t rank : {0, 1}) {
    const OnDevice on(static_cast<int>(rank));
    const int peer = 1 - static_cast<int>(rank);
    EXPECT_EQ(ncclSend(out[rank].data(), 50000, ncclFloat, peer, ranks.comm(rank), nullptr),
              ncclSuccess);
    EXPECT_EQ(ncclRecv(in[rank].data(), 50000, ncclFloat, peer, ranks.comm(rank), nullptr),
              ncclSuccess);
  }
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  for (std::size_t rank : {0, 1}) {
    const OnDevice on(static_cast<int>(rank));
    ASSERT_EQ(driver().contextSynchronize(), cuda::kSuccess);
    EXPECT_EQ(in[rank].values(), std::vector<float>(50000, static_cast<float>(2 - rank)));
  }
}

TEST(NcclOnDevices, TheEnvironmentMayChooseTheHost) {
  ASSERT_EQ(setenv("RONDO_DEVICE", "host", 1), 0);
  {
    const GroupedRanks ranks({0, 1});
    EXPECT_EQ(deviceOf(ranks.comm(0)), -1);
    void* memory = nullptr;
    ASSERT_EQ(ncclMemAlloc(&memory, sizeof(float)), ncclSuccess);
    *static_cast<float*>(memory) = 1;
    EXPECT_EQ(ncclMemFree(memory), ncclSuccess);
  }
  ASSERT_EQ(unsetenv("RONDO_DEVICE"), 0);
}

}  // namespace
}  // namespace rondo::testing
