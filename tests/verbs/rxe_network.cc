#include "tests/verbs/rxe_network.h"

#include <fstream>

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/format.h"

namespace rondo::testing {

namespace {

std::string portFolder(int device) {
  return fmt::format("/sys/class/infiniband/rxe{}/ports/1", device);
}

/// Runs a program. @return whether it said that all went well
bool runTool(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t process = 0;
  if (::posix_spawnp(&process, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0) {
    return false;
  }
  int status = 0;
  return ::waitpid(process, &status, 0) == process && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

std::string RxeHosts::devicesOf(int rank) const {
  std::string list;
  for (int rail = 0; rail < rails; ++rail)
    list += fmt::format("{}rxe{}", rail == 0 ? "" : ",", rank % hosts * rails + rail);
  return list;
}

bool setCable(int device, bool whole) {
  return runTool({"ip", "link", "set", fmt::format("sw{}", device), whole ? "up" : "down"});
}

bool setForwarding(int device, bool on) {
  const std::string port = fmt::format("sw{}", device);
  if (on) return runTool({"ip", "link", "set", port, "master", "switch"});
  return runTool({"ip", "link", "set", port, "nomaster"});
}

bool isActive(int device) {
  std::ifstream file(portFolder(device) + "/state");
  std::string number;
  std::string word;
  return file >> number >> word && word == "ACTIVE";
}

PacketLoss::PacketLoss(int devices, const std::string& share) : devices_(devices) {
  for (int device = 0; device < devices_; ++device) {
    EXPECT_TRUE(runTool({"tc", "qdisc", "add", "dev", fmt::format("eth{}", device), "root", "netem",
                         "loss", share}));
  }
}

PacketLoss::~PacketLoss() {
  for (int device = 0; device < devices_; ++device)
    EXPECT_TRUE(runTool({"tc", "qdisc", "delete", "dev", fmt::format("eth{}", device), "root"}));
}

/// As "Sent 1234 bytes 56 pkt (dropped 7, overlimits 0 requeues 0)" has it.
std::uint64_t PacketLoss::packets() const {
  const std::string file = "/tmp/qdiscs";
  EXPECT_TRUE(runTool({"sh", "-c", "tc -s qdisc show > " + file}));
  std::ifstream stream(file);
  std::uint64_t sum = 0;
  for (std::string word; stream >> word;) {
    std::uint64_t dropped = 0;
    if (word == "(dropped" && stream >> dropped) sum += dropped;
  }
  return sum;
}

std::uint64_t rxeCounter(int device, const std::string& name) {
  std::ifstream file(portFolder(device) + "/hw_counters/" + name);
  std::uint64_t value = 0;
  EXPECT_TRUE(file >> value) << name;
  return value;
}

}  // namespace rondo::testing
