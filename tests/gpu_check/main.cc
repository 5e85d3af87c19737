// rondo-gpu-check: what to run first on a machine with a GPU. The sections, the most important
// first, each with a part of the time; what one leaves the later ones may use.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/rondo.h"
#include "tests/gpu_check/apart.h"
#include "tests/gpu_check/child_process.h"
#include "tests/gpu_check/options.h"
#include "tests/gpu_check/process_rank.h"
#include "tests/gpu_check/section.h"
#include "tests/gpu_check/watchdog.h"

namespace rondo::gpucheck {

namespace {

struct Part {
  std::string_view name;
  double share;  ///< of all the time, at most
  void (*run)(const Section&);
};

constexpr Part kParts[] = {
    {"smoke", 0.12, checkSmoke},
    {"matrix2", 0.10, checkMatrixOfTwo},
    {"matrix4", 0.12, checkMatrixOfFour},
    {"matrix8", 0.15, checkMatrixOfEight},
    {"graphs", 0.04, checkGraphs},
    {"processes", 0.08, checkProcesses},
    {"products", 0.02, checkProducts},
    {"memcheck", 0.10, checkUnderMemcheck},
    {"latency", 0.04, measureLatency},
    {"bandwidth", 0.18, measureBandwidth},
    {"nccl", 0.04, measureNccl},
    // Slow, and of little use where memcheck found something; so they come last.
    {"racecheck", 0.15, checkUnderRacecheck},
    {"synccheck", 0.15, checkUnderSynccheck},
};

std::vector<Part> partsOf(const Options& options) {
  std::vector<Part> parts;
  for (const Part& part : kParts) {
    const bool wanted = options.sections.empty() ||
                        std::ranges::find(options.sections, part.name) != options.sections.end();
    if (wanted) parts.push_back(part);
  }
  return parts;
}

/// What the bundle says it was built from; empty if it says nothing.
std::string buildText() {
  const std::string program = ownPath();
  std::ifstream file(program.substr(0, program.find_last_of('/')) + "/BUILD");
  std::string line;
  std::getline(file, line);
  return line;
}

Json factsOf(const Result<Gpus>& gpus, const Options& options) {
  int version = 0;
  (void)rondoGetVersion(&version);
  Json facts = {{"program", "rondo-gpu-check"}, {"rondo_version", version},
                {"build", buildText()},         {"seconds", options.total.count()},
                {"tiny", options.extent.tiny},  {"emulated", gpus.ok() && gpus->emulated()},
                {"driver_version", nullptr},    {"devices", Json::array()}};
  if (!gpus.ok()) return facts;
  facts["driver_version"] = gpus->driverVersion;
  for (const Gpu& gpu : gpus->all) {
    facts["devices"].push_back(
        {{"ordinal", gpu.ordinal}, {"name", gpu.name}, {"memory_bytes", gpu.memoryBytes}});
  }
  facts["placement"] = gpus->all.size() == 1 ? "all ranks share the one GPU"
                                             : "rank r is on GPU r modulo their number";
  return facts;
}

void sayFacts(const Json& facts) {
  for (const Json& device : facts.at("devices")) {
    fmt::print("CUDA device {}: {}, {} MiB\n", device.at("ordinal").get<int>(),
               device.at("name").get<std::string>(),
               device.at("memory_bytes").get<std::size_t>() >> 20U);
  }
  if (facts.contains("placement")) fmt::print("{}\n", facts.at("placement").get<std::string>());
  if (facts.at("emulated").get<bool>()) fmt::print("EMULATED: nothing here is about a GPU\n");
}

Verdict runNothing(Report& report, const std::vector<Part>& parts, std::string_view reason) {
  for (const Part& part : parts)
    report.notRun(part.name, reason);
  return report.finish();
}

/// Runs all parts in turn, each within its share of the time.
/// @param runPart takes the part, its deadline, and when it must have ended
template <class RunPart>
Verdict runInTurn(Report& report,
                  const std::vector<Part>& parts,
                  const Options& options,
                  const RunPart& runPart) {
  constexpr std::chrono::seconds kLastGrace{15};
  const Deadline end = Deadline::within(options.total);
  for (const Part& part : parts) {
    if (end.passed()) {
      report.begin(part.name);
      report.cut();
      report.end();
      continue;
    }
    // The process of a section has all the time that it was given.
    const double share = options.part ? 1 : part.share;
    const auto own = std::chrono::ceil<std::chrono::milliseconds>(share * options.total);
    const Deadline deadline = earlier(end, Deadline::within(own));
    runPart(part, deadline,
            earlier(deadline.extendedBy(graceOf(options.extent)), end.extendedBy(kLastGrace)));
  }
  return report.finish();
}

Verdict runHere(Report& report, const std::vector<Part>& parts, const Options& options) {
  const Result<Gpus> gpus = openGpus();
  if (!gpus.ok()) return runNothing(report, parts, gpus.status().message());
  Watchdog watchdog(report);
  return runInTurn(report, parts, options, [&](const Part& part, Deadline deadline, Deadline last) {
    report.begin(part.name);
    watchdog.set(last);
    part.run({*gpus, options.extent, report, deadline});
    watchdog.set(Deadline{});
    report.end();
  });
}

Verdict runEachApart(Report& report, const std::vector<Part>& parts, const Options& options) {
  return runInTurn(report, parts, options, [&](const Part& part, Deadline deadline, Deadline last) {
    constexpr std::chrono::seconds kForItsWatchdog{2};
    report.begin(part.name, false);
    runApart(report, part.name, options, deadline, last.extendedBy(kForItsWatchdog));
  });
}

int run(int argc, char** argv) {
  std::vector<std::string> names;
  for (const Part& part : kParts)
    names.emplace_back(part.name);
  int exitStatus = 0;
  const std::optional<Options> options = readOptions(argc, argv, names, exitStatus);
  if (!options.has_value()) return exitStatus;
  if (options->processRank) return static_cast<int>(runAsProcessRank(options->extent));

  const Result<Gpus> gpus = findGpus();
  const Json facts = factsOf(gpus, *options);
  if (!options->part) sayFacts(facts);
  Report report(options->json, facts);
  const std::vector<Part> parts = partsOf(*options);
  std::vector<std::string_view> planned;
  for (const Part& part : parts)
    planned.push_back(part.name);
  report.plan(planned);
  if (!gpus.ok()) return static_cast<int>(runNothing(report, parts, gpus.status().message()));
  const bool here = options->oneProcess || options->part;
  return static_cast<int>(here ? runHere(report, parts, *options)
                               : runEachApart(report, parts, *options));
}

}  // namespace

}  // namespace rondo::gpucheck

int main(int argc, char** argv) {
  // What is right is found out by ranks on host memory, which have to add in the order of ranks on
  // devices. Before there is another thread.
  ::setenv("RONDO_MAILBOX_BYTES", "0", 1);
  return rondo::gpucheck::run(argc, argv);
}
