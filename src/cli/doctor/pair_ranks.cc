#include "src/cli/doctor/pair_ranks.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <limits>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include "rondo/rondo.h"
#include "src/bootstrap/launcher.h"
#include "src/cli/perf/collective_caller.h"
#include "src/cli/run/run.h"
#include "src/format.h"
#include "src/net/errno_text.h"
#include "src/net/file_descriptor.h"
#include "src/processors.h"

namespace rondo::doctor {

namespace {

using perf::statusOf;

/// For others to come, and for one pair to be measured, which takes well under a second.
constexpr std::int64_t kPatienceMs = 30000;

/// Of which the fastest is told: what else runs on the machine only adds.
constexpr int kBatches = 5;
constexpr int kLatencyCalls = 200;
constexpr int kBandwidthCalls = 4;

struct DestroyCommunicator {
  void operator()(rondoComm* comm) const { (void)rondoCommDestroy(comm); }
};

using Communicator = std::unique_ptr<rondoComm, DestroyCommunicator>;

/// A PairSpeed as ranks tell each other; zeros where there is none.
struct WirePair {
  double latencyUs;
  double bandwidthGBs;
  std::array<char, 16> transport;
};

static_assert(std::is_trivially_copyable_v<WirePair> && sizeof(WirePair) == 32);

/// Seconds of one call: the least average over batches of `calls` calls, after one batch that does
/// not count.
template <class Call>
Result<double> timeCalls(int calls, Call call) {
  using Clock = std::chrono::steady_clock;
  double least = std::numeric_limits<double>::infinity();
  for (int batch = -1; batch < kBatches; ++batch) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < calls; ++i)
      RONDO_RETURN_IF_ERROR(call());
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count() / calls;
    if (batch >= 0) least = std::min(least, seconds);
  }
  return least;
}

/// Both ranks of a pair.
Result<WirePair> measurePair(rondoComm_t pair) {
  const Result<double> latency = timeCalls(kLatencyCalls, [&] {
    std::array<std::byte, kLatencyBytes> data{};
    return statusOf(
        rondoAllReduce(data.data(), data.data(), data.size(), rondoUint8, rondoMax, pair, nullptr),
        pair);
  });
  RONDO_RETURN_IF_ERROR(latency.status());
  const std::vector<std::byte> send(kBandwidthBytes);
  std::vector<std::byte> recv(2 * kBandwidthBytes);
  const Result<double> exchange = timeCalls(kBandwidthCalls, [&] {
    return statusOf(
        rondoAllGather(send.data(), recv.data(), send.size(), rondoUint8, pair, nullptr), pair);
  });
  RONDO_RETURN_IF_ERROR(exchange.status());
  WirePair result{1e6 * *latency, static_cast<double>(kBandwidthBytes) / *exchange / 1e9, {}};
  int rank = 0;
  const char* name = "";
  RONDO_RETURN_IF_ERROR(statusOf(rondoCommRank(pair, &rank), pair));
  RONDO_RETURN_IF_ERROR(statusOf(rondoCommGetTransport(pair, 1 - rank, &name), pair));
  std::string_view(name).copy(result.transport.data(), result.transport.size() - 1);
  return result;
}

rondoConfig_t patientConfig() {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.name = "doctor";
  config.operationTimeoutMs = kPatienceMs;
  config.initTimeoutMs = kPatienceMs;
  return config;
}

/// One of the ranks that measure.
class PairRank {
 public:
  static Result<PairRank> join() {
    const rondoConfig_t config = patientConfig();
    rondoComm_t comm = nullptr;
    RONDO_RETURN_IF_ERROR(statusOf(rondoCommInitFromEnvironment(&comm, &config), nullptr));
    PairRank self{Communicator(comm)};
    RONDO_RETURN_IF_ERROR(statusOf(rondoCommRank(comm, &self.rank_), comm));
    RONDO_RETURN_IF_ERROR(statusOf(rondoCommCount(comm, &self.ranks_), comm));
    return self;
  }

  int rank() const { return rank_; }

  /// All pairs, known at all ranks.
  Result<std::vector<PairSpeed>> measure() const {
    std::vector<WirePair> own(static_cast<std::size_t>(ranks_));  // by other rank
    for (int one = 0; one < ranks_; ++one) {
      for (int other = one + 1; other < ranks_; ++other)
        RONDO_RETURN_IF_ERROR(measure(one, other, own[static_cast<std::size_t>(other)]));
    }
    std::vector<WirePair> all(own.size() * own.size());
    RONDO_RETURN_IF_ERROR(
        statusOf(rondoAllGather(own.data(), all.data(), own.size() * sizeof(WirePair), rondoUint8,
                                comm_.get(), nullptr),
                 comm_.get()));
    return speedsOf(all);
  }

 private:
  explicit PairRank(Communicator comm) : comm_(std::move(comm)) {}

  /// Collective. `result` is written at rank `one`.
  Status measure(int one, int other, WirePair& result) const {
    const bool takesPart = rank_ == one || rank_ == other;
    rondoComm_t comm = nullptr;
    const int color = takesPart ? 0 : RONDO_NO_COLOR;
    RONDO_RETURN_IF_ERROR(
        statusOf(rondoCommSplit(comm_.get(), color, rank_, &comm, nullptr), comm_.get()));
    if (!takesPart) return {};
    const Communicator pair(comm);
    const Result<WirePair> measured = measurePair(comm);
    RONDO_RETURN_IF_ERROR(measured.status());
    if (rank_ == one) result = *measured;
    return {};
  }

  std::vector<PairSpeed> speedsOf(const std::vector<WirePair>& all) const {
    std::vector<PairSpeed> speeds;
    for (int one = 0; one < ranks_; ++one) {
      for (int other = one + 1; other < ranks_; ++other) {
        const WirePair& pair = all[static_cast<std::size_t>(one * ranks_ + other)];
        speeds.push_back({one, other, pair.transport.data(), pair.latencyUs, pair.bandwidthGBs});
      }
    }
    return speeds;
  }

  Communicator comm_;
  int rank_ = 0;
  int ranks_ = 1;
};

using Json = nlohmann::json;

Json toJson(const Result<std::vector<PairSpeed>>& speeds) {
  if (!speeds.ok()) return {{"error", speeds.status().message()}};
  Json list = Json::array();
  for (const PairSpeed& pair : *speeds)
    list.push_back({pair.one, pair.other, pair.transport, pair.latencyUs, pair.bandwidthGBs});
  return {{"pairs", std::move(list)}};
}

/// Undoes toJson().
Result<std::vector<PairSpeed>> fromJson(const Json& json) {
  if (json.contains("error")) return Status::systemError("{}", json["error"].get<std::string>());
  if (!json.contains("pairs")) {
    return Status::systemError("rank 0 ended before it had measured; its message is above");
  }
  std::vector<PairSpeed> speeds;
  for (const Json& pair : json["pairs"])
    speeds.push_back({pair[0], pair[1], pair[2], pair[3], pair[4]});
  return speeds;
}

Result<std::vector<PairSpeed>> runRanksThatMeasure(int ranks) {
  const FileDescriptor memory(::memfd_create("rondo-doctor", MFD_CLOEXEC));
  if (!memory.valid()) {
    const int error = errno;
    return Status::systemError("memfd_create failed: {}", errnoText(error));
  }
  // By this process's number: ranks do not inherit it.
  const std::string file = fmt::format("/proc/{}/fd/{}", ::getpid(), memory.get());
  run::RunOptions options;
  options.ranks = ranks;
  options.prefix = false;
  options.words = {"/proc/self/exe", "doctor", kResultFlag, file};
  const Result<int> code = run::runRanks(options);
  RONDO_RETURN_IF_ERROR(code.status());
  std::ifstream stream(file);
  Result<std::vector<PairSpeed>> speeds = fromJson(Json::parse(stream, nullptr, false));
  if (speeds.ok() && *code != 0) return Status::systemError("a rank ended with status {}", *code);
  return speeds;
}

/// Why measuring would fail, or not tell of this machine; empty: it does not.
std::string whyNotMeasured(const Result<Config>& config) {
  if (!config.ok()) return "pairs of ranks are not measured while a setting is not accepted";
  if (config->device || config->deviceIsLocalRank) {
    return "pairs of ranks are not measured: RONDO_DEVICE puts them on devices, and what is "
           "measured here is memory of the host";
  }
  if (isLaunched(config->meeting, wholeEnvironment())) {
    return "pairs of ranks are not measured: a launcher has started this command, which starts "
           "ranks by itself";
  }
  return {};
}

}  // namespace

int usualRanks(int processors) {
  constexpr int kLeast = 2;
  constexpr int kMost = 4;
  return std::clamp(processors, kLeast, kMost);
}

PairFacts measurePairs(int ranks, const Result<Config>& config) {
  PairFacts facts;
  facts.ranks = ranks;
  facts.processors = usableProcessors();
  if (ranks == 0) return facts;
  facts.whyNot = whyNotMeasured(config);
  if (!facts.whyNot.empty()) return facts;
  Result<std::vector<PairSpeed>> speeds = runRanksThatMeasure(ranks);
  facts.measured = speeds.status();
  if (speeds.ok()) facts.speeds = *std::move(speeds);
  return facts;
}

Status measureAsRank(const std::string& resultFile) {
  const Result<PairRank> self = PairRank::join();
  RONDO_RETURN_IF_ERROR(self.status());
  const Result<std::vector<PairSpeed>> speeds = self->measure();
  if (self->rank() == 0) std::ofstream(resultFile) << toJson(speeds).dump();
  return speeds.status();
}

}  // namespace rondo::doctor
