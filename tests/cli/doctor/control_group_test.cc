// Limits of control groups, read from copies of what systems show.
#include "src/control_group.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace rondo::cli {
namespace {

/// A folder in place of "/", which goes with this object.
class Root {
 public:
  Root() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rondo_groups_XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "cannot make " << pattern;
    path_ = pattern;
  }

  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  Root(Root&&) = delete;
  Root& operator=(Root&&) = delete;

  ~Root() { std::filesystem::remove_all(path_); }

  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file) << text << "\n";
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

TEST(ControlGroup, NothingReadableIsNoLimit) {
  const Root root;
  const GroupLimits limits = readGroupLimits(root.path());
  EXPECT_FALSE(limits.processors || limits.memoryBytes || limits.memoryLeftBytes ||
               limits.processesLeft);
}

TEST(ControlGroup, OfVersion2TheTightestUpToTheRootCounts) {
  const Root root;
  root.write("proc/self/cgroup", "0::/jobs/one");
  root.write("sys/fs/cgroup/jobs/one/cpu.max", "max 100000");
  root.write("sys/fs/cgroup/jobs/cpu.max", "150000 100000");
  root.write("sys/fs/cgroup/jobs/one/memory.max", "max");
  root.write("sys/fs/cgroup/jobs/memory.max", "1000000");
  root.write("sys/fs/cgroup/jobs/memory.current", "400000");
  root.write("sys/fs/cgroup/jobs/one/pids.max", "100");
  root.write("sys/fs/cgroup/jobs/one/pids.current", "30");
  const GroupLimits limits = readGroupLimits(root.path());
  EXPECT_EQ(limits.processors, 1.5);
  EXPECT_EQ(limits.memoryBytes, 1000000U);
  EXPECT_EQ(limits.memoryLeftBytes, 600000U);
  EXPECT_EQ(limits.processesLeft, 70U);
}

TEST(ControlGroup, AContainerSeesItsGroupAsTheRoot) {
  const Root root;
  root.write("proc/self/cgroup", "0::/");
  root.write("sys/fs/cgroup/cpu.max", "50000 100000");
  root.write("sys/fs/cgroup/memory.max", "1000");
  root.write("sys/fs/cgroup/memory.current", "2000");
  const GroupLimits limits = readGroupLimits(root.path());
  EXPECT_EQ(limits.processors, 0.5);
  EXPECT_EQ(limits.memoryLeftBytes, 0U);
}

TEST(ControlGroup, OfVersion1EachControllerHasItsFolder) {
  const Root root;
  root.write("proc/self/cgroup", "8:pids:/\n4:memory:/box\n2:cpu,cpuacct:/box\n0::/");
  root.write("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "200000");
  root.write("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000");
  root.write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "5000");
  root.write("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "1000");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");  // none
  root.write("sys/fs/cgroup/pids/pids.max", "max");
  const GroupLimits limits = readGroupLimits(root.path());
  EXPECT_EQ(limits.processors, 2);
  EXPECT_EQ(limits.memoryBytes, 5000U);
  EXPECT_EQ(limits.memoryLeftBytes, 4000U);
  EXPECT_FALSE(limits.processesLeft.has_value());
}

TEST(ControlGroup, AQuotaOfMinusOneIsNone) {
  const Root root;
  root.write("proc/self/cgroup", "2:cpu:/");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  EXPECT_FALSE(readGroupLimits(root.path()).processors.has_value());
}

}  // namespace
}  // namespace rondo::cli
