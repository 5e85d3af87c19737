#include "src/cli/doctor/gpus.h"

#include <array>

#include "kernels/cuda/device_library.h"
#include "src/cuda/driver.h"
#include "src/format.h"

namespace rondo::doctor {

namespace {

Status readNames(const cuda::Driver& driver, std::vector<std::string>& names) {
  int count = 0;
  RONDO_RETURN_IF_ERROR(driver.check(driver.deviceGetCount(&count), "counting CUDA devices"));
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    int device = 0;
    std::array<char, 128> name{};
    RONDO_RETURN_IF_ERROR(driver.check(driver.deviceGet(&device, ordinal),
                                       fmt::format("looking at CUDA device {}", ordinal)));
    RONDO_RETURN_IF_ERROR(
        driver.check(driver.deviceGetName(name.data(), int{name.size() - 1}, device),
                     fmt::format("asking CUDA device {} for its name", ordinal)));
    names.emplace_back(name.data());
  }
  return {};
}

std::vector<std::pair<int, int>> findApart(const cuda::Driver& driver, int count) {
  const auto reaches = [&](int from, int to) {
    int fromDevice = 0;
    int toDevice = 0;
    int can = 0;
    return driver.deviceGet(&fromDevice, from) == cuda::kSuccess &&
           driver.deviceGet(&toDevice, to) == cuda::kSuccess &&
           driver.canAccessPeer(&can, fromDevice, toDevice) == cuda::kSuccess && can != 0;
  };
  std::vector<std::pair<int, int>> apart;
  for (int one = 0; one < count; ++one) {
    for (int other = one + 1; other < count; ++other)
      if (!reaches(one, other) || !reaches(other, one)) apart.emplace_back(one, other);
  }
  return apart;
}

Finding noDriver(const GpuFacts& facts) {
  if (!facts.wanted) return note(std::string(facts.driver.message()));
  return problem(fmt::format("RONDO_DEVICE puts ranks on devices, but {}", facts.driver.message()),
                 "unset RONDO_DEVICE, or nvidia-smi to see what is wrong; in a container: docker "
                 "run --gpus all ...");
}

}  // namespace

GpuFacts readGpus(const Config& config) {
  GpuFacts facts;
  facts.hasKernels = !device::deviceLibrary(DataType::kFloat32).empty();
  facts.wanted = config.device.has_value() || config.deviceIsLocalRank;
  facts.device = config.device;
  const Result<const cuda::Driver*> driver = cuda::systemDriver();
  facts.driver = driver.status();
  if (!driver.ok()) return facts;
  facts.driver = readNames(**driver, facts.names);
  facts.apart = findApart(**driver, static_cast<int>(facts.names.size()));
  return facts;
}

Findings examine(const GpuFacts& facts) {
  if (!facts.driver.ok()) return {noDriver(facts)};
  Findings findings;
  for (std::size_t device = 0; device < facts.names.size(); ++device) {
    findings.push_back(
        ok(fmt::format("CUDA device {} is there ({})", device, facts.names[device])));
  }
  if (facts.device && static_cast<std::size_t>(*facts.device) >= facts.names.size()) {
    findings.push_back(problem(fmt::format("RONDO_DEVICE is {}, but there are {} CUDA devices",
                                           *facts.device, facts.names.size()),
                               "export RONDO_DEVICE=local, or a number that nvidia-smi -L lists"));
  }
  for (const auto& [one, other] : facts.apart) {
    findings.push_back(
        note(fmt::format("CUDA devices {} and {} cannot use each other's memory; "
                         "what ranks on them exchange goes by memory of the host",
                         one, other)));
  }
  if (!facts.hasKernels) {
    const std::string text =
        "this build of Rondo has no kernels for GPUs; communicators on host memory work";
    const std::string cure =
        "cmake -B build -DRONDO_CUDA=ON -DRONDO_NVCC=/usr/local/cuda/bin/nvcc (nvcc 13), and build";
    findings.push_back(facts.wanted ? problem(text, cure) : warning(text, cure));
  }
  return findings;
}

}  // namespace rondo::doctor
