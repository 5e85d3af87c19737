#include "src/cli/perf/rank_team.h"

#include <chrono>
#include <cmath>
#include <thread>

#include "src/cli/perf/collective_caller.h"
#include "src/cli/perf/rank_buffers.h"
#include "src/config.h"

namespace rondo::perf {

/// What a rank is to do.
struct RankWork {
  const PerfOptions& options;
  const Case& what;
  const PredictableData& data;
  Placement placement;
};

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// `times` calls, one after another.
Status repeat(const CollectiveCaller& caller, const RankBuffers& buffers, int times) {
  for (int i = 0; i < times; ++i) {
    const rondoResult_t result = caller.call(buffers.send(), buffers.recv());
    if (result != rondoSuccess) [[unlikely]]
      return caller.status(result);
  }
  return {};
}

/// Seconds of one call, from a run of calls without anything between them.
Result<double> timeStream(const CollectiveCaller& caller, const RankBuffers& buffers, int times) {
  RONDO_RETURN_IF_ERROR(caller.status(caller.meet()));
  const Clock::time_point start = Clock::now();
  RONDO_RETURN_IF_ERROR(repeat(caller, buffers, times));
  return secondsSince(start) / times;
}

/// Seconds of one call, when the ranks meet before each one; the meetings are not counted.
Result<double> timeSingly(const CollectiveCaller& caller, const RankBuffers& buffers, int times) {
  double seconds = 0;
  for (int i = 0; i < times; ++i) {
    RONDO_RETURN_IF_ERROR(caller.status(caller.meet()));
    const Clock::time_point start = Clock::now();
    RONDO_RETURN_IF_ERROR(repeat(caller, buffers, 1));
    seconds += secondsSince(start);
  }
  return seconds / times;
}

Status checkCalls(const CollectiveCaller& caller,
                  RankBuffers& buffers,
                  int times,
                  RankReport& report) {
  for (int i = 0; i < times; ++i) {
    buffers.fill();
    RONDO_RETURN_IF_ERROR(repeat(caller, buffers, 1));
    // A rank may still read this one's memory; nothing is looked at before all are done.
    RONDO_RETURN_IF_ERROR(caller.status(caller.meet()));
    const CheckReport found = buffers.check();
    report.wrong += found.wrong;
    if (report.problem.empty()) report.problem = found.text;
  }
  return {};
}

Result<RankReport> runRank(const RankWork& work, rondoComm_t comm, int rank) {
  const PerfOptions& options = work.options;
  Result<RankBuffers> buffers =
      RankBuffers::create(work.what, work.data, rank, work.placement, options.unalignBytes,
                          options.buffers == BufferKind::kRondo);
  RONDO_RETURN_IF_ERROR(buffers.status());
  if (options.buffers == BufferKind::kRegistered)
    RONDO_RETURN_IF_ERROR(buffers->registerWith(comm));
  const Result<CollectiveCaller> caller =
      CollectiveCaller::create(work.what, work.data, comm, rank);
  RONDO_RETURN_IF_ERROR(caller.status());
  buffers->fill();
  RONDO_RETURN_IF_ERROR(repeat(*caller, *buffers, options.warmups));
  const Result<double> seconds = options.blocking
                                     ? timeSingly(*caller, *buffers, options.iterations)
                                     : timeStream(*caller, *buffers, options.iterations);
  RONDO_RETURN_IF_ERROR(seconds.status());
  RankReport report;
  report.secondsPerCall = *seconds;
  RONDO_RETURN_IF_ERROR(checkCalls(*caller, *buffers, options.checks, report));
  return report;
}

/// A rank that gives up takes the others with it, unless all of them were refused alike.
Result<RankReport> runRankOrAbort(const RankWork& work, rondoComm_t comm, int rank) {
  Result<RankReport> report = runRank(work, comm, rank);
  if (!report.ok() && report.status().code() != StatusCode::kNotSupported) {
    (void)rondoCommAbort(comm);
  }
  return report;
}

rondoConfig_t configFor(const PerfOptions& options, const std::string& rules) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.name = "perf";
  if (!rules.empty()) {
    config.algorithm = rules.c_str();
    // What a named algorithm cannot do is said once, below the table.
    config.logLevel = "error";
  }
  if (options.reproducible) config.reproducible = 1;
  if (options.channels != 0) config.channels = options.channels;
  if (options.chunkBytes != 0) config.chunkBytes = static_cast<std::int64_t>(options.chunkBytes);
  if (options.unlimitedSlots) config.slotMemoryBytes = 0;
  if (options.slots != 0) config.slotsPerConnection = options.slots;
  if (options.timeoutSeconds) {
    config.operationTimeoutMs = static_cast<std::int64_t>(std::ceil(*options.timeoutSeconds * 1e3));
  }
  return config;
}

/// The failure that explains the others, which were only aborted for it.
Status firstCause(const std::vector<Result<RankReport>>& reports) {
  Status cause;
  for (const Result<RankReport>& report : reports) {
    const Status status = report.status();
    if (status.ok()) continue;
    if (cause.ok() || cause.code() == StatusCode::kAborted) cause = status;
  }
  return cause;
}

}  // namespace

Status checkConfig(const PerfOptions& options) {
  const rondoConfig_t config = configFor(options, {});
  return loadConfig(&config, processEnvironment()).status();
}

Result<RankTeam> RankTeam::create(const PerfOptions& options,
                                  const std::string& rules,
                                  const ProcessRank* self) {
  const rondoConfig_t config = configFor(options, rules);
  RankTeam team;
  team.self_ = self;
  if (self != nullptr) {
    const Result<rondoComm_t> comm = self->makeCommunicator(config);
    RONDO_RETURN_IF_ERROR(comm.status());
    team.comms_ = {*comm};
    return team;
  }
  std::vector<rondoComm_t> comms(static_cast<std::size_t>(options.ranks));
  RONDO_RETURN_IF_ERROR(statusOf(rondoCommInitAll(comms.data(), options.ranks, &config), nullptr));
  team.comms_ = std::move(comms);
  return team;
}

RankTeam::~RankTeam() {
  for (const rondoComm_t comm : comms_)
    (void)rondoCommDestroy(comm);
}

Result<std::vector<RankReport>> RankTeam::run(const PerfOptions& options,
                                              const Case& what,
                                              const PredictableData& data,
                                              Placement placement) {
  const RankWork work{options, what, data, placement};
  std::vector<Result<RankReport>> reports;
  if (self_ != nullptr) {
    auto gathered = self_->gather(runRankOrAbort(work, comms_.front(), self_->rank()));
    RONDO_RETURN_IF_ERROR(gathered.status());
    reports = *std::move(gathered);
  } else {
    reports = runThreads(work);
  }
  RONDO_RETURN_IF_ERROR(firstCause(reports));
  std::vector<RankReport> values;
  for (Result<RankReport>& report : reports)
    values.push_back(*std::move(report));
  return values;
}

std::vector<Result<RankReport>> RankTeam::runThreads(const RankWork& work) const {
  std::vector<Result<RankReport>> reports(comms_.size(), RankReport{});
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < comms_.size(); ++rank) {
    threads.emplace_back(
        [&, rank] { reports[rank] = runRankOrAbort(work, comms_[rank], static_cast<int>(rank)); });
  }
  threads.clear();  // joins them
  return reports;
}

}  // namespace rondo::perf
