// Which rank uses which network device.
#include "src/topology/device_choice.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/topology/machines.h"

namespace rondo::testing {
namespace {

using Names = std::vector<std::string>;

Names chosen(const std::vector<LocalRank>& ranks,
             DeviceKind kind,
             const std::vector<std::string>& usable = {}) {
  Names names;
  for (const auto& device : chooseDevices(ranks, pinRanks(ranks), kind, usable))
    names.push_back(device ? ranks.front().topology->devices[*device].name : "-");
  return names;
}

std::vector<LocalRank> ranksOnGpus(const Topology& machine, const std::vector<int>& gpus) {
  std::vector<LocalRank> ranks;
  for (const int gpu : gpus)
    ranks.push_back({&machine, gpu});
  return ranks;
}

/// Two nodes; network devices eth0 to eth3, whose nodes are given.
Topology machineWithNics(const std::vector<int>& nodes) {
  Topology machine = gridMachine({.packages = 2, .cores = 4});
  for (std::size_t nic = 0; nic < nodes.size(); ++nic) {
    machine.devices.push_back({DeviceKind::kNetwork,
                               fmt::format("eth{}", nic),
                               fmt::format("0000:{:02x}:00.0", nic),
                               nodes[nic],
                               {fmt::format("pci0000:{:02x}", nic)}});
  }
  return machine;
}

TEST(ChooseDevices, EachGpuHasTheCardAtItsSwitch) {
  RONDO_SKIP_WITHOUT_HWLOC();
  const Topology machine = dgxLikeMachine();
  const auto ranks = ranksOnGpus(machine, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(chosen(ranks, DeviceKind::kVerbs), (Names{"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3",
                                                      "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_7"}));
  EXPECT_EQ(chosen(ranksOnGpus(machine, {6, 1}), DeviceKind::kNetwork), (Names{"ib6", "ib1"}));
}

TEST(ChooseDevices, TheNearestOfThoseThatMayBeUsed) {
  RONDO_SKIP_WITHOUT_HWLOC();
  const Topology machine = dgxLikeMachine();
  // The neighbour at the switch, then the other root complex of the node, then the other node.
  const auto ranks = ranksOnGpus(machine, {0});
  EXPECT_EQ(chosen(ranks, DeviceKind::kVerbs, {"mlx5_4", "mlx5_2", "mlx5_1"}), (Names{"mlx5_1"}));
  EXPECT_EQ(chosen(ranks, DeviceKind::kVerbs, {"mlx5_4", "mlx5_2"}), (Names{"mlx5_2"}));
  EXPECT_EQ(chosen(ranks, DeviceKind::kVerbs, {"mlx5_4"}), (Names{"mlx5_4"}));
  EXPECT_EQ(chosen(ranks, DeviceKind::kVerbs, {"mlx4_0"}), (Names{"-"}));
}

TEST(ChooseDevices, RanksOnProcessorsUseTheirNode) {
  RONDO_SKIP_WITHOUT_HWLOC();
  const Topology machine = dgxLikeMachine();
  const std::vector<LocalRank> ranks(4, {&machine});  // two on each node
  EXPECT_EQ(chosen(ranks, DeviceKind::kNetwork), (Names{"ib0", "ib1", "ib4", "ib5"}));
}

TEST(ChooseDevices, EquallyNearOnesTakeTurns) {
  const Topology machine = machineWithNics({0, 0, 1, 1});
  const std::vector<LocalRank> ranks(8, {&machine});
  EXPECT_EQ(chosen(ranks, DeviceKind::kNetwork),
            (Names{"eth0", "eth1", "eth0", "eth1", "eth2", "eth3", "eth2", "eth3"}));
}

TEST(ChooseDevices, NearnessGoesBeforeTurns) {
  const Topology machine = machineWithNics({1});
  const std::vector<LocalRank> ranks(3, {&machine});
  EXPECT_EQ(chosen(ranks, DeviceKind::kNetwork), (Names{"eth0", "eth0", "eth0"}));
}

TEST(ChooseDevices, UnknownPlacesComeLast) {
  const Topology machine = machineWithNics({-1, 1});
  const std::vector<LocalRank> ranks(2, {&machine});  // one on each node
  EXPECT_EQ(chosen(ranks, DeviceKind::kNetwork), (Names{"eth1", "eth1"}));
}

TEST(ChooseDevices, NothingWithoutDevices) {
  const Topology machine = gridMachine({});
  EXPECT_EQ(chosen({{&machine}, {&machine}}, DeviceKind::kVerbs), (Names{"-", "-"}));
  EXPECT_TRUE(chooseDevices({}, {}, DeviceKind::kVerbs).empty());
}

TEST(DeviceDistance, ByTheWayOnTheBus) {
  RONDO_SKIP_WITHOUT_HWLOC();
  const Topology machine = dgxLikeMachine();
  const auto at = [&](std::size_t index) -> const Device& { return machine.devices[index]; };
  const Device& gpu = at(0);
  using Distance = DeviceDistance;
  EXPECT_EQ(deviceDistance(machine, at(8), at(16)), (Distance{DevicePath::kSameDevice, 0}));
  EXPECT_EQ(deviceDistance(machine, gpu, at(16)), (Distance{DevicePath::kSwitch, 0}));
  EXPECT_EQ(deviceDistance(machine, gpu, at(17)), (Distance{DevicePath::kSwitch, 2}));
  EXPECT_EQ(deviceDistance(machine, gpu, at(18)), (Distance{DevicePath::kNode, 0}));
  EXPECT_EQ(deviceDistance(machine, gpu, at(20)), (Distance{DevicePath::kNodes, 32}));
  EXPECT_EQ(deviceDistance(machine, 0, at(20)), (Distance{DevicePath::kNodes, 32}));
}

}  // namespace
}  // namespace rondo::testing
