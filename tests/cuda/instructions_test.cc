// What the functions of kernels/cuda/device.h become: the PTX that their comments promise, and the
// machine code that ptxas makes of it. The order of memory is decided by these few instructions,
// and no test that runs shows a missing one reliably.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace rondo::testing {
namespace {

namespace fs = std::filesystem;

using Opcodes = std::vector<std::string>;
using OpcodesOf = std::map<std::string, Opcodes>;  ///< by function of device.h

struct Promise {
  std::string function;
  Opcodes ptx;
  Opcodes machine;  ///< of sm_90; an opcode may have more parts behind
};

const Promise kPromises[] = {
    {"syncBlock", {"bar.sync"}, {"BAR.SYNC"}},
    {"syncBlockAny", {"bar.red.or.pred"}, {"BAR.RED.OR"}},
    {"anyInWarp", {"vote.sync.any.pred"}, {"VOTE.ANY"}},
    {"halfToFloat", {"cvt.f32.f16"}, {"HADD2.F32"}},
    {"floatToHalf", {"cvt.rn.f16.f32"}, {"F2FP.F16.F32"}},
    {"postCounter", {"st.release.sys.u64"}, {"MEMBAR.ALL.SYS", "ST.E.64.STRONG.SYS"}},
    {"observeCounter", {"ld.acquire.sys.u64"}, {"LD.E.64.STRONG.SYS", "CCTL.IVALL"}},
    {"creditLines", {"st.relaxed.sys.u64"}, {"ST.E.64.STRONG.SYS"}},
    {"peekFlag", {"ld.relaxed.sys.u32"}, {"LD.E.STRONG.SYS"}},
    {"tellHost", {"st.relaxed.sys.u64"}, {"ST.E.64.STRONG.SYS"}},
    {"placePack", {"st.relaxed.sys.v2.u64"}, {"ST.E.128.STRONG.SYS"}},
    {"peekPack", {"ld.relaxed.sys.v2.u64"}, {"LD.E.128.STRONG.SYS"}},
    {"placeLine128",
     {"bar.warp.sync", "st.relaxed.sys.v2.u64"},
     // ptxas drops the barrier where the warp cannot have diverged, as in the probe.
     {"ST.E.128.STRONG.SYS"}},
    {"peekLine128", {"bar.warp.sync", "ld.relaxed.sys.v2.u64"}, {"LD.E.128.STRONG.SYS"}},
};

std::string readFile(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What is printed is part of the failure.
void run(const std::string& command) {
  const int status = std::system(command.c_str());
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command;
}

/// A folder that is gone after the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "rondo-instructions-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }

  ~TemporaryFolder() { fs::remove_all(path_); }

  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Compiles instructions.cu. Headers in `folder` come before those of the sources.
/// @param kind "-ptx" or "-cubin"
fs::path compile(const std::string& kind, const fs::path& folder) {
  fs::path output = folder / "instructions.out";
  run(std::string(RONDO_NVCC_COMMAND) + " -I" + folder.string() + " -I" RONDO_SOURCE_FOLDER " " +
      kind + " -o " + output.string() + " " RONDO_SOURCE_FOLDER "/tests/cuda/instructions.cu");
  return output;
}

bool startsWithAnyOf(const std::string& text, const std::vector<std::string_view>& prefixes) {
  return std::ranges::any_of(prefixes, [&](auto prefix) { return text.starts_with(prefix); });
}

/// What orders, moves or converts, by function. The kernels' own accesses are those of the
/// compiler, ".global" and of the parameters; device.h's are generic.
OpcodesOf opcodesOfPtx(const std::string& text) {
  OpcodesOf found;
  std::string function;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t entry = line.find(".entry probe_");
    if (entry != line.npos) {
      const std::size_t begin = entry + std::string_view(".entry probe_").size();
      function = line.substr(begin, line.find('(', begin) - begin);
      found[function];
    }
    std::string opcode;
    std::istringstream words(line);
    words >> opcode;
    if (opcode.starts_with("@")) words >> opcode;
    if (startsWithAnyOf(opcode, {"ld.param", "ld.global", "st.global"})) continue;
    if (startsWithAnyOf(opcode, {"ld.", "st.", "atom", "red", "fence", "membar", "bar", "vote",
                                 "cvt.f32", "cvt.rn"})) {
      found[function].push_back(opcode);
    }
  }
  return found;
}

/// The same in what nvdisasm prints: "/*0040*/  @P0 ST.E.64 [R2], R4 ;" after ".text.probe_name:".
OpcodesOf opcodesOfMachineCode(const std::string& text) {
  constexpr std::string_view kHead = ".text.probe_";
  OpcodesOf found;
  std::string function;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kHead)) {
      function = line.substr(kHead.size(), line.find(':') - kHead.size());
    }
    const std::size_t address = line.find("*/");
    if (function.empty() || address == line.npos) continue;
    std::istringstream words(line.substr(address + 2));
    std::string opcode;
    words >> opcode;
    if (opcode.starts_with("@")) words >> opcode;
    if (startsWithAnyOf(opcode, {"LD.", "ST.", "ATOM", "RED", "MEMBAR", "FENCE", "CCTL", "BAR",
                                 "VOTE", "WARPSYNC", "HADD2", "F2F"})) {
      found[function].push_back(opcode);
    }
  }
  return found;
}

bool keeps(const Opcodes& promised, const Opcodes& found) {
  return std::ranges::equal(promised, found, [](const auto& promise, const auto& opcode) {
    return opcode == promise || opcode.starts_with(promise + ".");
  });
}

TEST(Instructions, PtxIsAsPromised) {
  const TemporaryFolder folder;
  OpcodesOf found = opcodesOfPtx(readFile(compile("-ptx", folder.path())));
  for (const Promise& promise : kPromises)
    EXPECT_EQ(found[promise.function], promise.ptx) << promise.function;
  EXPECT_EQ(found.size(), std::size(kPromises));
}

TEST(Instructions, MachineCodeIsAsPromised) {
  if (std::string_view(RONDO_NVDISASM).empty()) {
    GTEST_SKIP() << "no nvdisasm (scripts/dependencies fetches it)";
  }
  const TemporaryFolder folder;
  const fs::path cubin = compile("-cubin -arch=sm_90", folder.path());
  const fs::path listing = folder.path() / "listing";
  run(RONDO_NVDISASM " -c " + cubin.string() + " > " + listing.string());
  OpcodesOf found = opcodesOfMachineCode(readFile(listing));
  for (const Promise& promise : kPromises) {
    const Opcodes& opcodes = found[promise.function];
    EXPECT_TRUE(keeps(promise.machine, opcodes))
        << promise.function << " is " << ::testing::PrintToString(opcodes);
  }
}

/// An edit of device_ptx.cuh, and what it breaks.
struct Weakening {
  std::string from;
  std::string to;
  std::vector<std::string> functions;
};

const Weakening kWeakenings[] = {
    {".release.", ".relaxed.", {"postCounter"}},
    {".acquire.", ".relaxed.", {"observeCounter"}},
    {".sys.",
     ".gpu.",
     {"postCounter", "observeCounter", "creditLines", "peekFlag", "tellHost", "placePack",
      "peekPack", "placeLine128", "peekLine128"}},
    {".relaxed.sys.",
     ".",
     {"creditLines", "peekFlag", "tellHost", "placePack", "peekPack", "placeLine128",
      "peekLine128"}},
    {"__syncwarp();", "", {"placeLine128", "peekLine128"}},
};

/// @return how often it was done
int replaceAll(std::string& text, const std::string& from, const std::string& to) {
  int count = 0;
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
    ++count;
  }
  return count;
}

TEST(Instructions, WeakerOnesAreNoticed) {
  for (const Weakening& weakening : kWeakenings) {
    SCOPED_TRACE(weakening.from + " -> " + weakening.to);
    const TemporaryFolder folder;
    std::string text = readFile(RONDO_SOURCE_FOLDER "/kernels/cuda/device_ptx.cuh");
    ASSERT_GT(replaceAll(text, weakening.from, weakening.to), 0);
    fs::create_directories(folder.path() / "kernels/cuda");
    std::ofstream(folder.path() / "kernels/cuda/device_ptx.cuh") << text;
    OpcodesOf found = opcodesOfPtx(readFile(compile("-ptx", folder.path())));
    for (const Promise& promise : kPromises) {
      const bool broken = std::ranges::count(weakening.functions, promise.function) > 0;
      EXPECT_EQ(found[promise.function] != promise.ptx, broken) << promise.function;
    }
  }
}

}  // namespace
}  // namespace rondo::testing
