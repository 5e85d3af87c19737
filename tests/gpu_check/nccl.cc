// One rank of NCCL beside one rank of Rondo and a copy. With one rank an all-reduce is a copy, so
// this compares what calling costs, and what a kernel makes of a GPU's memory, not how ranks talk.
#include <algorithm>
#include <utility>

#include <dlfcn.h>

#include "src/cli/perf/bandwidth.h"
#include "src/cli/perf/collective_caller.h"
#include "src/loaded_function.h"
#include "src/size_text.h"
#include "tests/gpu_check/copy_timer.h"
#include "tests/gpu_check/section.h"
#include "tests/gpu_check/timing.h"

namespace rondo::gpucheck {

namespace {

using NcclComm = struct ncclComm*;

constexpr int kNcclFloat = 7;
constexpr int kNcclSum = 0;

/// The functions of libnccl.so.2 that are used, by its public header.
struct Nccl {
  int (*getVersion)(int* version) = nullptr;
  const char* (*getErrorString)(int result) = nullptr;
  int (*commInitAll)(NcclComm* comms, int count, const int* devices) = nullptr;
  int (*commDestroy)(NcclComm comm) = nullptr;
  int (*allReduce)(const void* send,
                   void* recv,
                   std::size_t count,
                   int type,
                   int op,
                   NcclComm comm,
                   cuda::Stream stream) = nullptr;

  Status check(int result, std::string_view what) const {
    if (result == 0) return {};
    return Status::systemError("NCCL, {}: {}", what, getErrorString(result));
  }
};

Result<Nccl> loadNccl() {
  void* const library = ::dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return Status::notSupported("{}", ::dlerror());  // NOLINT(concurrency-mt-unsafe)
  Nccl nccl;
  const bool found = findFunction(library, "ncclGetVersion", nccl.getVersion) &&
                     findFunction(library, "ncclGetErrorString", nccl.getErrorString) &&
                     findFunction(library, "ncclCommInitAll", nccl.commInitAll) &&
                     findFunction(library, "ncclCommDestroy", nccl.commDestroy) &&
                     findFunction(library, "ncclAllReduce", nccl.allReduce);
  if (!found) return Status::notSupported("libnccl.so.2 lacks functions that NCCL has");
  return nccl;
}

/// One rank of NCCL on the first GPU.
class NcclRank {
 public:
  static Result<NcclRank> make(const Nccl& nccl, const Gpu& gpu) {
    const OnGpu current(gpu);
    NcclRank rank(nccl);
    RONDO_RETURN_IF_ERROR(
        nccl.check(nccl.commInitAll(&rank.comm_, 1, &gpu.ordinal), "making a communicator"));
    return rank;
  }

  NcclRank(NcclRank&& other) noexcept
      : nccl_(other.nccl_), comm_(std::exchange(other.comm_, nullptr)) {}

  NcclRank(const NcclRank&) = delete;
  NcclRank& operator=(const NcclRank&) = delete;
  NcclRank& operator=(NcclRank&&) = delete;

  ~NcclRank() {
    if (comm_ != nullptr) (void)nccl_->commDestroy(comm_);
  }

  Status allReduce(const RankBuffers& buffers, std::size_t count, cuda::Stream stream) const {
    return nccl_->check(nccl_->allReduce(buffers.first.at(0), buffers.second.at(0), count,
                                         kNcclFloat, kNcclSum, comm_, stream),
                        "all-reduce");
  }

 private:
  explicit NcclRank(const Nccl& nccl) : nccl_(&nccl) {}

  const Nccl* nccl_;
  NcclComm comm_ = nullptr;
};

/// What both libraries use.
struct Bench {
  const Section& section;
  GpuTeam team;  // of one rank
  RankBuffers buffers;
  CopyTimer copies;
};

void tell(const Section& section,
          std::string_view library,
          std::size_t bytes,
          const Timing& timing,
          const Timing& copy) {
  const perf::Bandwidth bandwidth =
      perf::bandwidthOf(Collective::kAllReduce, 1, bytes, timing.medianSeconds);
  const double share = copy.medianSeconds / timing.medianSeconds;
  section.report.row({{"library", library},
                      {"operation", "all_reduce"},
                      {"ranks", 1},
                      {"size_bytes", bytes},
                      {"time", timing.json()},
                      {"algbw_gbs", bandwidth.algorithmGBs},
                      {"copy", copy.json()},
                      {"share_of_copy", share}},
                     fmt::format("{:<6} 1 rank {:>8}: {}, algbw {:.2f} GB/s, {:.1f} % of a copy's "
                                 "{:.2f} us",
                                 library, formatSize(bytes), timing.text(), bandwidth.algorithmGBs,
                                 100 * share, 1e6 * copy.medianSeconds));
}

Status measureBoth(Bench& bench, const NcclRank& nccl, std::size_t bytes) {
  const std::size_t count = bytes / sizeof(float);
  const Repetitions repetitions = Repetitions::forBytes(bytes, bench.section.extent.tiny);
  const Result<Timing> copy = bench.copies.time(bytes);
  RONDO_RETURN_IF_ERROR(copy.status());
  GpuRank& rank = bench.team.rank(0);
  const Result<Timing> others = timeStream(*rank.gpu, rank.stream, repetitions, [&] {
    return nccl.allReduce(bench.buffers, count, rank.stream.get());
  });
  RONDO_RETURN_IF_ERROR(others.status());
  tell(bench.section, "nccl", bytes, *others, *copy);
  const Result<Timing> own = timeStream(*rank.gpu, rank.stream, repetitions, [&] {
    return perf::statusOf(
        rondoAllReduce(bench.buffers.first.at(0), bench.buffers.second.at(0), count, rondoFloat32,
                       rondoSum, rank.comm, rank.stream.get()),
        rank.comm);
  });
  RONDO_RETURN_IF_ERROR(own.status());
  tell(bench.section, "rondo", bytes, *own, *copy);
  return {};
}

Result<Bench> makeBench(const Section& section, std::size_t mostBytes) {
  Result<GpuTeam> team =
      GpuTeam::make(section.gpus, {.ranks = 1, .patience = section.extent.patience});
  RONDO_RETURN_IF_ERROR(team.status());
  Result<RankBuffers> buffers = RankBuffers::allocate(section.gpus.all.front(), mostBytes);
  RONDO_RETURN_IF_ERROR(buffers.status());
  Result<CopyTimer> copies = CopyTimer::make(section, mostBytes);
  RONDO_RETURN_IF_ERROR(copies.status());
  return Bench{section, *std::move(team), *std::move(buffers), *std::move(copies)};
}

}  // namespace

void measureNccl(const Section& section) {
  section.report.doing("loading NCCL");
  const Result<Nccl> nccl = loadNccl();
  if (!nccl.ok()) return section.report.notRun(nccl.status().message());
  const Result<NcclRank> rank = NcclRank::make(*nccl, section.gpus.all.front());
  if (!rank.ok()) return section.report.notRun(rank.status().message());
  std::vector<std::size_t> sizes = {8, 64U << 20U, 1U << 20U, 256U << 20U};
  if (section.extent.tiny) sizes = {8, 1U << 10U};
  Result<Bench> bench = makeBench(section, std::ranges::max(sizes));
  if (!bench.ok()) return section.report.check(bench.status(), "one rank of Rondo");
  int version = 0;
  section.report.row({{"nccl_version", nccl->getVersion(&version) == 0 ? version : 0}},
                     fmt::format("NCCL {}", version));
  for (const std::size_t bytes : sizes) {
    if (section.outOfTime()) return;
    const std::string text = fmt::format("one rank, {}", formatSize(bytes));
    section.report.doing(text);
    const Status outcome = measureBoth(*bench, *rank, bytes);
    if (!outcome.ok()) section.report.check(outcome, text);
  }
}

}  // namespace rondo::gpucheck
