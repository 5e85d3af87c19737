// What the variables of launchers are taken to mean, and the keys that jobs get from them.
#include "src/bootstrap/launcher.h"

#include <cstdio>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/bootstrap/job_key.h"
#include "src/net/name_resolution.h"

namespace rondo {
namespace {

Launch launchOf(const Environment& environment, const MeetingSettings& settings = {}) {
  const Result<Launch> launch = findLaunch(settings, environment);
  EXPECT_TRUE(launch.ok()) << launch.status().message();
  return launch.ok() ? *launch : Launch{};
}

void expectError(const Environment& environment,
                 std::string_view part,
                 const MeetingSettings& settings = {}) {
  const Status status = findLaunch(settings, environment).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find(part), std::string_view::npos)
      << "no \"" << part << "\" in: " << status.message();
}

/// `base` with some variables changed, or taken out where the new value is empty.
Environment with(Environment base, const Environment& changes) {
  for (const auto& [name, value] : changes)
    base[name] = value;
  return base;
}

const Environment kTorchrunVariables = {{"RANK", "5"},
                                        {"WORLD_SIZE", "8"},
                                        {"LOCAL_RANK", "1"},
                                        {"LOCAL_WORLD_SIZE", "4"},
                                        {"MASTER_ADDR", "node1"},
                                        {"MASTER_PORT", "29500"}};

const Environment kSlurmVariables = {
    {"SLURM_PROCID", "3"},  {"SLURM_NTASKS", "4"},  {"SLURM_LOCALID", "1"},
    {"SLURM_JOB_ID", "77"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NODELIST", "node[007-008],login"}};

const Environment kOpenMpiVariables = {{"OMPI_COMM_WORLD_RANK", "1"},
                                       {"OMPI_COMM_WORLD_SIZE", "3"},
                                       {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                       {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"},
                                       {"PMIX_NAMESPACE", "195"}};

const Environment kMpichVariables = {
    {"PMI_RANK", "1"}, {"PMI_SIZE", "3"}, {"PMI_FD", "6"}, {"MPI_LOCALRANKID", "1"}};

TEST(Launcher, Torchrun) {
  const Launch launch = launchOf(kTorchrunVariables);
  EXPECT_EQ(launch.launcher, Launcher::kTorchrun);
  EXPECT_EQ(launch.rank, 5);
  EXPECT_EQ(launch.ranks, 8);
  EXPECT_EQ(launch.localRank, 1);
  EXPECT_EQ(launch.localRanks, 4);
  EXPECT_EQ(launch.place, MeetingPlace::kRoot);
  EXPECT_EQ(launch.root.host, "node1");
  EXPECT_EQ(launch.root.ports.first, 29501);
  EXPECT_EQ(launch.root.ports.last, 29516);
  const MeetingSettings port{.portFirst = 4000, .portLast = 4003};
  EXPECT_EQ(launchOf(kTorchrunVariables, port).root.ports.last, 4003);
  EXPECT_EQ(launchOf(with(kTorchrunVariables, {{"MASTER_PORT", "65530"}})).root.ports.last, 65535);
  EXPECT_NE(launchOf(with(kTorchrunVariables, {{"TORCHELASTIC_RESTART_COUNT", "1"}})).job,
            launch.job);
}

TEST(Launcher, TorchrunsVariablesAreChecked) {
  expectError(with(kTorchrunVariables, {{"RANK", "8"}}), "RANK is 8 and WORLD_SIZE is 8");
  expectError(with(kTorchrunVariables, {{"RANK", "-1"}}), "RANK is \"-1\"");
  expectError(with(kTorchrunVariables, {{"WORLD_SIZE", ""}}), "WORLD_SIZE is not set");
  expectError(with(kTorchrunVariables, {{"MASTER_ADDR", ""}}), "MASTER_ADDR is not set");
  expectError(with(kTorchrunVariables, {{"MASTER_PORT", ""}}), "MASTER_PORT is not set");
  expectError(with(kTorchrunVariables, {{"MASTER_PORT", "65535"}}), "MASTER_PORT is 65535");
  expectError(with(kTorchrunVariables, {{"LOCAL_RANK", "4"}}), "LOCAL_RANK is 4");
  expectError(kTorchrunVariables, "MASTER_PORT", {.portFirst = 29000, .portLast = 29600});
}

TEST(Launcher, Slurm) {
  const Launch launch = launchOf(kSlurmVariables);
  EXPECT_EQ(launch.launcher, Launcher::kSlurm);
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.localRank, 1);
  EXPECT_EQ(launch.root.host, "node007");
  EXPECT_EQ(launch.root.ports.first, 20000 + 77 * 16);
  EXPECT_EQ(launch.root.ports.last, 20000 + 77 * 16 + 15);
  for (const char* job : {"1", "999", "2147483647"}) {
    const PortRange ports =
        launchOf(with(kSlurmVariables, {{"SLURM_JOB_ID", job}, {"SLURM_STEP_ID", "12"}}))
            .root.ports;
    EXPECT_GE(ports.first, 20000);
    EXPECT_LT(ports.last, 30000);
  }
  EXPECT_EQ(launchOf(with(kSlurmVariables, {{"PMIX_NAMESPACE", "a"}, {"PMIX_RANK", "3"}})).place,
            MeetingPlace::kPmix);
  expectError(with(kSlurmVariables, {{"SLURM_NTASKS", ""}}), "SLURM_NTASKS");
  expectError(with(kSlurmVariables, {{"SLURM_JOB_ID", "x"}}), "SLURM_JOB_ID");
  expectError(with(kSlurmVariables, {{"SLURM_STEP_NODELIST", ""}}), "SLURM_JOB_NODELIST");
  // A batch script is no step.
  expectError(with(kSlurmVariables, {{"SLURM_STEP_ID", ""}}), "Looked for");
}

TEST(Launcher, FirstHostOfASlurmList) {
  EXPECT_EQ(firstSlurmHost("node1"), "node1");
  EXPECT_EQ(firstSlurmHost("a,b"), "a");
  EXPECT_EQ(firstSlurmHost("node[007-012,020],login"), "node007");
  EXPECT_EQ(firstSlurmHost("node[3,5-7]"), "node3");
  EXPECT_EQ(firstSlurmHost("rack[1-2]node[04-09]"), "rack1node04");
  EXPECT_EQ(firstSlurmHost("n[1-2].site.org"), "n1.site.org");
  EXPECT_EQ(firstSlurmHost(""), "");
}

TEST(Launcher, MpisLaunchers) {
  const Launch open = launchOf(kOpenMpiVariables);
  EXPECT_EQ(open.launcher, Launcher::kOpenMpi);
  EXPECT_EQ(open.place, MeetingPlace::kPmix);
  EXPECT_EQ(open.localRanks, 3);
  const Launch mpich = launchOf(kMpichVariables);
  EXPECT_EQ(mpich.launcher, Launcher::kMpich);
  EXPECT_EQ(mpich.place, MeetingPlace::kPmi1);
  EXPECT_EQ(mpich.pmiDescriptor, 6);
  EXPECT_EQ(launchOf(kOpenMpiVariables, {.root = "a:4000"}).place, MeetingPlace::kRoot);
  EXPECT_EQ(launchOf(kMpichVariables, {.root = "a:4000"}).place, MeetingPlace::kRoot);
  expectError(with(kOpenMpiVariables, {{"PMIX_NAMESPACE", ""}}), "PMIX_NAMESPACE");
  expectError(with(kMpichVariables, {{"PMI_FD", ""}}), "PMI_FD");
}

TEST(Launcher, TheInnermostWins) {
  Environment all = kSlurmVariables;
  // mpirun in an allocation: the step's variables are those of its daemon.
  all.insert(kOpenMpiVariables.begin(), kOpenMpiVariables.end());
  EXPECT_EQ(launchOf(all).launcher, Launcher::kOpenMpi);
  all.insert(kTorchrunVariables.begin(), kTorchrunVariables.end());
  EXPECT_EQ(launchOf(all).launcher, Launcher::kTorchrun);
  EXPECT_EQ(launchOf(all, {.rank = 0, .ranks = 2, .root = "a:1"}).launcher, Launcher::kVariables);
  // srun with PMI-2: PMI_FD is there, but does not speak PMI-1.
  Environment srun = with(kSlurmVariables, {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"PMI_FD", "9"}});
  EXPECT_EQ(launchOf(srun).launcher, Launcher::kSlurm);
}

TEST(Launcher, ByHand) {
  const Launch launch = launchOf({}, {.rank = 1, .ranks = 2, .root = "node1:4000-4010"});
  EXPECT_EQ(launch.root.host, "node1");
  EXPECT_EQ(launch.root.ports.last, 4010);
  EXPECT_EQ(launchOf({}, {.rank = 0, .ranks = 1}).place, MeetingPlace::kNowhere);
  expectError({}, "RONDO_RANKS is not", {.rank = 0});
  expectError({}, "RONDO_RANK is not", {.ranks = 2});
  expectError({}, "RONDO_ROOT is not", {.rank = 0, .ranks = 2});
  expectError({}, "RONDO_RANK is 2 and RONDO_RANKS is 2", {.rank = 2, .ranks = 2});
  for (const char* part : {"torchrun", "mpirun", "mpiexec", "srun", "RONDO_RANK=0 RONDO_RANKS=1"})
    expectError({}, part);
}

TEST(Launcher, IsThereEvenIfItIsWrong) {
  EXPECT_FALSE(isLaunched({}, {}));
  EXPECT_FALSE(isLaunched({}, {{"RANK", "0"}}));
  EXPECT_FALSE(isLaunched({.root = "a:1"}, {}));
  EXPECT_TRUE(isLaunched({.ranks = 2}, {}));
  EXPECT_TRUE(isLaunched({}, {{"RANK", "x"}, {"WORLD_SIZE", "2"}}));
  for (const Environment& variables :
       {kTorchrunVariables, kSlurmVariables, kOpenMpiVariables, kMpichVariables}) {
    EXPECT_TRUE(isLaunched({}, variables));
  }
}

TEST(Launcher, Roots) {
  const auto textOf = [](std::string_view text) {
    const Result<RootPlace> place = parseRootPlace(text, {7, 8});
    if (!place.ok()) return std::string("error");
    return fmt::format("{} {} {}", place->host, place->ports.first, place->ports.last);
  };
  EXPECT_EQ(textOf("node1:4000"), "node1 4000 4000");
  EXPECT_EQ(textOf("10.0.0.1:4000-4001"), "10.0.0.1 4000 4001");
  EXPECT_EQ(textOf("[fd00::1]:4000"), "[fd00::1] 4000 4000");
  EXPECT_EQ(textOf("fd00::1"), "fd00::1 7 8");
  EXPECT_EQ(textOf("node1"), "node1 7 8");
  for (const char* bad : {"node1:", "node1:0", "node1:65536", "node1:x", ":4000", "", "a:5-4"})
    EXPECT_EQ(textOf(bad), "error") << bad;
  EXPECT_FALSE(parseRootPlace("node1", {}).ok());
}

/// A file that goes with this object.
class File {
 public:
  File(std::string_view text, unsigned mode)
      : path_(testing::TempDir() + "rondo_secret." + std::to_string(::getpid())) {
    std::ofstream(path_) << text;
    EXPECT_EQ(::chmod(path_.c_str(), mode), 0);
  }

  File(const File&) = delete;
  File& operator=(const File&) = delete;

  ~File() { (void)::unlink(path_.c_str()); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

bool sameKey(const Result<JobKey>& one, const Result<JobKey>& other) {
  EXPECT_TRUE(one.ok() && other.ok());
  return std::ranges::equal(one->key.bytes(), other->key.bytes());
}

TEST(JobKey, IsOfTheSecretAndTheJob) {
  const MeetingSettings secret{.secret = "correct horse battery"};
  const Result<JobKey> key = makeJobKey(secret, "slurm 1");
  EXPECT_TRUE(key->secret);
  EXPECT_TRUE(sameKey(key, makeJobKey(secret, "slurm 1")));
  EXPECT_FALSE(sameKey(key, makeJobKey(secret, "slurm 2")));
  EXPECT_FALSE(sameKey(key, makeJobKey({.secret = "correct horse batterx"}, "slurm 1")));
  const Result<JobKey> derived = makeJobKey({}, "slurm 1");
  EXPECT_FALSE(derived->secret);
  EXPECT_FALSE(sameKey(key, derived));
  EXPECT_TRUE(sameKey(derived, makeJobKey({}, "slurm 1")));
  EXPECT_FALSE(sameKey(derived, makeJobKey({}, "slurm 2")));
  const File file("correct horse battery\n", 0600);
  EXPECT_TRUE(sameKey(key, makeJobKey({.secretFile = file.path()}, "slurm 1")));
}

TEST(JobKey, FilesThatOthersMayReadAreRefused) {
  for (const unsigned mode : {0640U, 0604U, 0620U, 0666U}) {
    const File file("correct horse battery", mode);
    const Status status = makeJobKey({.secretFile = file.path()}, "").status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(fmt::format("mode {:04o}", mode)), std::string_view::npos)
        << status.message();
    EXPECT_EQ(status.message().find("horse"), std::string_view::npos);
  }
  const File tooShort("hunter2", 0600);
  const Status status = makeJobKey({.secretFile = tooShort.path()}, "").status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message().find("hunter2"), std::string_view::npos);
  EXPECT_EQ(makeJobKey({.secretFile = "/nowhere/secret"}, "").status().code(),
            StatusCode::kSystemError);
  EXPECT_EQ(makeJobKey({.secret = "correct horse battery", .secretFile = tooShort.path()}, "")
                .status()
                .code(),
            StatusCode::kInvalidArgument);
}

TEST(NameResolution, NumbersAndNames) {
  const Deadline soon = Deadline::within(std::chrono::milliseconds{300});
  EXPECT_EQ(resolveHost("10.0.0.1", soon)->front().text(), "10.0.0.1:0");
  EXPECT_EQ(resolveHost("[fd00::1]", soon)->front().hostText(), "fd00::1");
  EXPECT_TRUE(resolveHost("localhost", soon)->front().isLoopback());
  const Status status = resolveHost("no-such-host.invalid", soon).status();
  EXPECT_EQ(status.code(), StatusCode::kTimeout);
  EXPECT_NE(status.message().find("no-such-host.invalid"), std::string_view::npos);
}

TEST(SocketAddress, PrivateAddresses) {
  for (const char* host : {"127.0.0.1", "::1", "10.1.2.3", "172.16.0.1", "172.31.255.255",
                           "192.168.1.1", "169.254.3.4", "fe80::1", "fc00::1", "fd12::1"}) {
    EXPECT_TRUE(SocketAddress::parseHost(host)->isPrivate()) << host;
  }
  for (const char* host : {"8.8.8.8", "172.15.0.1", "172.32.0.1", "192.169.0.1", "2001:db8::1",
                           "100.64.0.1", "0.0.0.0"}) {
    EXPECT_FALSE(SocketAddress::parseHost(host)->isPrivate()) << host;
  }
}

}  // namespace
}  // namespace rondo
