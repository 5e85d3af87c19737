// Holds the kernels of the device library to tests/cuda/kernel_budget.txt: registers, stack, spills
// and size, as ptxas told them when the library was built.
//   kernel_budget_test <folder with images and what ptxas said of them>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/data_type.h"

namespace rondo::testing {
namespace {

namespace fs = std::filesystem;

fs::path imageFolder;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): main's

/// Of one kernel on one architecture, or what it may use.
struct Usage {
  unsigned registers = 0;
  unsigned stackBytes = 0;
  unsigned spilledBytes = 0;  ///< stores, over all functions of the kernel
  unsigned sharedBytes = 0;   ///< beside what the launch asks for
};

using Kernel = std::pair<std::string, std::string>;  ///< type or "messages", architecture

struct Library {
  std::map<Kernel, Usage> kernels;
  std::map<std::string, std::uintmax_t> imageBytes;
  std::set<std::string> architectures;
};

unsigned number(const std::ssub_match& match) {
  return static_cast<unsigned>(std::stoul(match.str()));
}

/// Reads what `ptxas -v` printed: a kernel's name, what it uses, then the functions it calls.
void readUsage(const fs::path& path, Library& library) {
  static const std::regex kEntry("Compiling entry function 'rondoRun_(\\w+)' for '(\\w+)'");
  static const std::regex kSpills("(\\d+) bytes spill stores");
  static const std::regex kUsed("Used (\\d+) registers");
  static const std::regex kStack("(\\d+) bytes cumulative stack size");
  static const std::regex kShared("(\\d+) bytes smem");
  std::ifstream file(path);
  Usage* usage = nullptr;
  std::smatch match;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_search(line, match, kEntry)) {
      usage = &library.kernels[{match[1], match[2]}];
      library.architectures.insert(match[2]);
    }
    if (usage == nullptr) continue;
    if (std::regex_search(line, match, kSpills)) usage->spilledBytes += number(match[1]);
    if (std::regex_search(line, match, kUsed)) usage->registers = number(match[1]);
    if (std::regex_search(line, match, kStack)) usage->stackBytes = number(match[1]);
    if (std::regex_search(line, match, kShared)) usage->sharedBytes = number(match[1]);
  }
}

Library readLibrary() {
  Library library;
  for (const auto& entry : fs::directory_iterator(imageFolder)) {
    const fs::path& path = entry.path();
    if (path.extension() == ".usage") readUsage(path, library);
    if (path.extension() == ".fatbin")
      library.imageBytes[path.stem().string()] = fs::file_size(path);
  }
  return library;
}

struct Budget {
  std::map<std::string, Usage> kernels;
  std::map<std::string, std::uintmax_t> imageKiB;
};

/// Lines of four columns are of kernels, of two of images.
Budget readBudget() {
  Budget budget;
  std::ifstream file(RONDO_KERNEL_BUDGET);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name;
    unsigned first = 0;
    if (!(words >> name >> first)) continue;
    Usage usage{.registers = first};
    if (words >> usage.stackBytes >> usage.spilledBytes) {
      budget.kernels[name] = usage;
    } else {
      budget.imageKiB[name] = first;
    }
  }
  return budget;
}

TEST(KernelBudget, HasEveryKernel) {
  const Library library = readLibrary();
  const Budget budget = readBudget();
  ASSERT_FALSE(library.architectures.empty()) << "nothing was compiled in " << imageFolder;
  std::vector<std::string> names{"messages", "coded"};
  for (int type = 0; type < kDataTypeCount; ++type)
    names.emplace_back(dataTypeName(static_cast<DataType>(type)));
  for (const std::string& name : names) {
    EXPECT_TRUE(budget.kernels.contains(name)) << name << " has no budget";
    for (const std::string& architecture : library.architectures)
      EXPECT_TRUE(library.kernels.contains({name, architecture})) << name << " " << architecture;
  }
  EXPECT_EQ(budget.kernels.size(), names.size());
}

TEST(KernelBudget, IsKeptByEveryKernel) {
  Budget budget = readBudget();
  for (const auto& [kernel, usage] : readLibrary().kernels) {
    const Usage& limit = budget.kernels[kernel.first];
    SCOPED_TRACE("kernel " + kernel.first + " on " + kernel.second);
    EXPECT_LE(usage.registers, limit.registers);
    EXPECT_LE(usage.stackBytes, limit.stackBytes);
    EXPECT_LE(usage.spilledBytes, limit.spilledBytes);
    EXPECT_EQ(usage.sharedBytes, 0u) << "shared memory is what the launch asks for";
  }
}

TEST(KernelBudget, IsKeptByEveryImage) {
  const Library library = readLibrary();
  Budget budget = readBudget();
  std::uintmax_t total = 0;
  for (const auto& [image, bytes] : library.imageBytes) {
    EXPECT_LE(bytes, budget.imageKiB[image] * 1024 * library.architectures.size()) << image;
    total += bytes;
  }
  EXPECT_LE(total, budget.imageKiB["library"] * 1024 * library.architectures.size());
}

/// The table of docs/performance.md.
void print(const Library& library) {
  std::cout << "| kernel | architecture | registers | stack | spilled |\n|---|---|---|---|---|\n";
  for (const auto& [kernel, usage] : library.kernels) {
    std::cout << "| " << kernel.first << " | " << kernel.second << " | " << usage.registers << " | "
              << usage.stackBytes << " | " << usage.spilledBytes << " |\n";
  }
  std::cout << "\n| image | KiB |\n|---|---|\n";
  std::uintmax_t total = 0;
  for (const auto& [image, bytes] : library.imageBytes) {
    std::cout << "| " << image << " | " << bytes / 1024 << " |\n";
    total += bytes;
  }
  std::cout << "| all | " << total / 1024 << " |\n\n";
}

}  // namespace
}  // namespace rondo::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc != 2) {
    std::cerr << "usage: kernel_budget_test <folder of images>\n";
    return 2;
  }
  rondo::testing::imageFolder = argv[1];
  rondo::testing::print(rondo::testing::readLibrary());
  return RUN_ALL_TESTS();
}
