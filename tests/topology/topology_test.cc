// What is read of machines: by hwloc, from copies of /sys, and from this machine by both.
#include "src/topology/topology.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "src/topology/hwloc_topology.h"
#include "src/topology/sys_topology.h"
#include "tests/topology/machines.h"

namespace rondo::testing {
namespace {

namespace fs = std::filesystem;

/// A /sys of the test's own making.
class FakeSys {
 public:
  FakeSys() {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }

  ~FakeSys() { fs::remove_all(root_); }

  FakeSys(const FakeSys&) = delete;
  FakeSys& operator=(const FakeSys&) = delete;

  const fs::path& root() const { return root_; }

  void write(const fs::path& file, const std::string& content) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << content << "\n";
  }

  void link(const fs::path& from, const fs::path& to) const {
    fs::create_directories((root_ / from).parent_path());
    fs::create_directories(root_ / to);
    fs::create_directory_symlink(root_ / to, root_ / from);
  }

  void addProcessor(int os, const char* package, const char* l3, const char* core) const {
    const fs::path folder = fmt::format("devices/system/cpu/cpu{}", os);
    write(folder / "topology/core_siblings_list", package);
    write(folder / "topology/thread_siblings_list", core);
    write(folder / "cache/index0/level", "1");
    write(folder / "cache/index0/shared_cpu_list", core);
    write(folder / "cache/index1/level", "3");
    write(folder / "cache/index1/shared_cpu_list", l3);
  }

  void addDevice(const fs::path& folder,
                 const char* name,
                 const char* kind,
                 const char* node) const {
    write(folder / "class", kind);
    write(folder / "vendor", "0x10de");
    write(folder / "numa_node", node);
    link(fs::path("bus/pci/devices") / name, folder);
  }

 private:
  fs::path root_ = fs::path(::testing::TempDir()) / fmt::format("rondo_sys_{}", ::getpid());
};

/// Two packages of two cores with two threads, numbered as Linux does: second threads last.
void fillDualSocket(const FakeSys& sys) {
  for (const int os : {0, 1, 4, 5})
    sys.addProcessor(os, "0-1,4-5", "0-1,4-5", os % 4 == 0 ? "0,4" : "1,5");
  for (const int os : {2, 3, 6, 7})
    sys.addProcessor(os, "2-3,6-7", "2-3,6-7", os % 4 == 2 ? "2,6" : "3,7");
  sys.write("devices/system/node/online", "0-1");
  sys.write("devices/system/node/node0/cpulist", "0-1,4-5");
  sys.write("devices/system/node/node0/distance", "10 21");
  sys.write("devices/system/node/node0/meminfo", "Node 0 MemFree: 5 kB\nNode 0 MemTotal:  2048 kB");
  sys.write("devices/system/node/node1/cpulist", "2-3,6-7");
  sys.write("devices/system/node/node1/distance", "21 10");
  const fs::path root = "devices/pci0000:16";
  sys.addDevice(root / "0000:16:02.0/0000:17:00.0", "0000:17:00.0", "0x030200", "1");
  sys.addDevice(root / "0000:16:03.0/0000:18:00.0", "0000:18:00.0", "0x020700", "1");
  sys.link("class/net/ib0", root / "0000:16:03.0/0000:18:00.0/net/ib0");
  sys.link("class/infiniband/mlx5_0", root / "0000:16:03.0/0000:18:00.0/infiniband/mlx5_0");
  sys.link("class/net/lo", "devices/virtual/net/lo");
}

TEST(SysTopology, ReadsProcessorsNodesAndDevices) {
  const FakeSys sys;
  fillDualSocket(sys);
  const Topology topology = readSysTopology(sys.root(), ProcessorMask::range(0, 7));
  ASSERT_EQ(topology.processors.size(), 8U);
  EXPECT_EQ(topology.processors[5],
            (Processor{.os = 5, .node = 0, .package = 0, .l3 = 0, .core = 1}));
  EXPECT_EQ(topology.processors[6],
            (Processor{.os = 6, .node = 1, .package = 2, .l3 = 2, .core = 2}));
  ASSERT_EQ(topology.nodes.size(), 2U);
  EXPECT_EQ(topology.nodes[0], (MemoryNode{0, 2048 * 1024, {10, 21}}));
  EXPECT_EQ(topology.nodes[1], (MemoryNode{1, 0, {21, 10}}));
  EXPECT_EQ(topology.nodeDistance(1, 0), 21);
  EXPECT_EQ(
      topology.devices,
      (std::vector<Device>{
          {DeviceKind::kGpu, "0000:17:00.0", "0000:17:00.0", 1, {"pci0000:16", "0000:16:02.0"}},
          {DeviceKind::kNetwork, "ib0", "0000:18:00.0", 1, {"pci0000:16", "0000:16:03.0"}},
          {DeviceKind::kVerbs, "mlx5_0", "0000:18:00.0", 1, {"pci0000:16", "0000:16:03.0"}},
      }));
}

TEST(SysTopology, GroupsAreNamedAlikeWhateverIsAllowed) {
  const FakeSys sys;
  fillDualSocket(sys);
  const Topology topology = readSysTopology(sys.root(), ProcessorMask::parse("6"));
  ASSERT_EQ(topology.processors.size(), 1U);
  EXPECT_EQ(topology.processors[0],
            (Processor{.os = 6, .node = 1, .package = 2, .l3 = 2, .core = 2}));
  EXPECT_EQ(topology.nodes.size(), 2U);
}

TEST(SysTopology, AnEmptyOneIsFlat) {
  const FakeSys sys;
  const ProcessorMask allowed = ProcessorMask::parse("3,9-10");
  EXPECT_EQ(readSysTopology(sys.root(), allowed), flatTopology(allowed));
  EXPECT_EQ(readSysTopology(sys.root() / "nothing", allowed), flatTopology(allowed));
}

TEST(SysTopology, NonsenseIsLeftOut) {
  const FakeSys sys;
  sys.write("devices/system/node/online", "all");
  sys.write("devices/system/cpu/cpu0/topology/core_siblings_list", "-3,x");
  sys.write("devices/system/cpu/cpu0/cache/index0/level", "three");
  sys.link("class/net/eth0", "devices/pci0000:00/0000:00:03.0:1/net/eth0");
  const ProcessorMask one = ProcessorMask::range(0, 0);
  EXPECT_EQ(readSysTopology(sys.root(), one), flatTopology(one));
}

TEST(FlatTopology, EachProcessorIsACoreOfOneNode) {
  const Topology topology = flatTopology(ProcessorMask::parse("2,5"));
  ASSERT_EQ(topology.processors.size(), 2U);
  EXPECT_EQ(topology.processors[1], (Processor{.os = 5, .core = 5}));
  EXPECT_EQ(topology.nodes, std::vector<MemoryNode>(1));
  EXPECT_EQ(topology.nodeDistance(0, 0), 10);
  EXPECT_EQ(topology.nodeDistance(0, 1), 20);
}

TEST(HwlocTopology, ReadsSyntheticMachines) {
  RONDO_SKIP_WITHOUT_HWLOC();
  for (const Grid& grid : {Grid{}, Grid{2, 1, 8, 8, 1}, Grid{2, 2, 1, 3, 2}, Grid{1, 4, 2, 2, 4}}) {
    Result<Topology> read = readDescribedTopology(describe(grid));
    ASSERT_TRUE(read.ok()) << read.status().message();
    read->source = TopologySource::kSys;
    EXPECT_EQ(*read, gridMachine(grid)) << describe(grid);
  }
}

TEST(HwlocTopology, WithoutThirdLevelCacheTheNodeIsOne) {
  RONDO_SKIP_WITHOUT_HWLOC();
  const Result<Topology> read = readDescribedTopology("package:2 numa:1 core:2 pu:1");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->processors[3], (Processor{.os = 3, .node = 1, .package = 2, .l3 = 2, .core = 3}));
}

TEST(HwlocTopology, ReadsDevicesAndDistances) {
  RONDO_SKIP_WITHOUT_HWLOC();
  const Topology machine = dgxLikeMachine();
  ASSERT_EQ(machine.devices.size(), 24U);
  EXPECT_EQ(machine.devices[5], (Device{DeviceKind::kGpu,
                                        "0000:86:00.0",
                                        "0000:86:00.0",
                                        1,
                                        {"pci0000:80", "0000:80:01.0", "0000:81:01.0"}}));
  EXPECT_EQ(machine.devices[18], (Device{DeviceKind::kVerbs,
                                         "mlx5_2",
                                         "0000:43:00.0",
                                         0,
                                         {"pci0000:40", "0000:40:01.0", "0000:41:00.0"}}));
  EXPECT_EQ(machine.nodeDistance(0, 1), 32);
  EXPECT_EQ(machine.nodes[1].bytes, std::uint64_t{1} << 40U);
}

TEST(HwlocTopology, DistancesHaveADirection) {
  RONDO_SKIP_WITHOUT_HWLOC();
  std::string xml = dgxLikeXml();
  const std::string_view matrix = "10 32 32 10";
  xml.replace(xml.find(matrix), matrix.size(), "10 21 32 10");
  const Result<Topology> machine = readDescribedTopology(xml);
  ASSERT_TRUE(machine.ok()) << machine.status().message();
  EXPECT_EQ(machine->nodes[0].distances, (std::vector{10, 21}));
  EXPECT_EQ(machine->nodes[1].distances, (std::vector{32, 10}));
}

TEST(HwlocTopology, RefusesWhatDescribesNoMachine) {
  RONDO_SKIP_WITHOUT_HWLOC();
  for (const char* description : {"", "no machine", "<xml", "package:0", "<topology/>"}) {
    EXPECT_EQ(readDescribedTopology(description).status().code(), StatusCode::kInvalidArgument)
        << description;
  }
}

TEST(HwlocTopology, AgreesWithSysOnThisHost) {
  const ProcessorMask allowed = allowedProcessors();
  const Result<Topology> read = readHwlocTopology(allowed);
  if (!read.ok()) GTEST_SKIP() << read.status().message();
  const Topology sys = readSysTopology("/sys", allowed);
  EXPECT_EQ(read->processors, sys.processors);
  EXPECT_EQ(read->devices, sys.devices);
  ASSERT_EQ(read->nodes.size(), sys.nodes.size());
  for (std::size_t node = 0; node < sys.nodes.size(); ++node) {
    const int os = sys.nodes[node].os;
    EXPECT_EQ(read->nodes[node].os, os);
    EXPECT_EQ(read->nodes[node].bytes, sys.nodes[node].bytes);
    for (const MemoryNode& other : sys.nodes)
      EXPECT_EQ(read->nodeDistance(os, other.os), sys.nodeDistance(os, other.os));
  }
}

TEST(HwlocTopology, IsNoAnswerForProcessorsItDoesNotKnow) {
  EXPECT_FALSE(readHwlocTopology(ProcessorMask::range(0, ProcessorMask::kMost - 1)).ok());
}

TEST(FindTopology, HasTheAllowedProcessors) {
  const ProcessorMask before = allowedProcessors();
  const Topology topology = findTopology();
  EXPECT_EQ(topology.mask(), before);
  EXPECT_FALSE(topology.nodes.empty());
  EXPECT_EQ(allowedProcessors(), before);  // reading binds nobody
}

}  // namespace
}  // namespace rondo::testing
