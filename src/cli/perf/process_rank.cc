#include "src/cli/perf/process_rank.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "src/cli/perf/collective_caller.h"
#include "src/config.h"
#include "transports/verbs/make_transport.h"

namespace rondo::perf {

namespace {

/// A report or a failure as bytes of one size.
struct WireReport {
  double secondsPerCall;
  std::uint64_t wrong;
  std::int32_t code;  ///< StatusCode
  std::uint32_t textBytes;
  std::array<char, 1000> text;  ///< the problem, or the failure's message; cut to what fits
};

static_assert(std::is_trivially_copyable_v<WireReport> && sizeof(WireReport) == 1024);

WireReport toWire(const Result<RankReport>& report) {
  WireReport wire{};
  const Status status = report.status();
  wire.code = static_cast<std::int32_t>(status.code());
  std::string_view text = status.message();
  if (report.ok()) {
    wire.secondsPerCall = report->secondsPerCall;
    wire.wrong = report->wrong;
    text = report->problem;
  }
  text = text.substr(0, wire.text.size());
  wire.textBytes = static_cast<std::uint32_t>(text.size());
  std::copy(text.begin(), text.end(), wire.text.begin());
  return wire;
}

Result<RankReport> fromWire(const WireReport& wire) {
  std::string text(wire.text.data(), std::min<std::size_t>(wire.textBytes, wire.text.size()));
  const auto code = static_cast<StatusCode>(wire.code);
  if (code != StatusCode::kOk) return Status(code, std::move(text));
  return RankReport{wire.secondsPerCall, wire.wrong, std::move(text)};
}

/// Whether verbs goes through a driver that makes packets in software, so that times say nothing of
/// adapters.
bool hasEmulatedAdapter() {
  const Result<Config> config = loadConfig(nullptr, processEnvironment());
  if (!config.ok()) return false;
  const Result<verbs::AdapterSurvey> survey = verbs::surveyAdapters(config->verbs);
  return survey.ok() && survey->emulated;
}

}  // namespace

Result<ProcessRank> ProcessRank::join() {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.name = "perf-control";
  rondoComm_t control = nullptr;
  RONDO_RETURN_IF_ERROR(statusOf(rondoCommInitFromEnvironment(&control, &config), nullptr));
  ProcessRank self(control);
  RONDO_RETURN_IF_ERROR(statusOf(rondoCommRank(control, &self.rank_), control));
  RONDO_RETURN_IF_ERROR(statusOf(rondoCommCount(control, &self.ranks_), control));
  RONDO_RETURN_IF_ERROR(self.learnTransports());
  return self;
}

Status ProcessRank::learnTransports() {
  std::array<std::uint8_t, kTransports.size()> used{};  // by any rank
  std::uint8_t emulated = 0;
  for (int peer = 0; peer < ranks_; ++peer) {
    const char* name = nullptr;
    RONDO_RETURN_IF_ERROR(statusOf(rondoCommGetTransport(control_, peer, &name), control_));
    const auto known = std::ranges::find(kTransports, name);
    if (known != kTransports.end()) used[std::size_t(known - kTransports.begin())] = 1;
    if (std::string_view(name) == "verbs") emulated = hasEmulatedAdapter();
  }
  RONDO_RETURN_IF_ERROR(statusOf(rondoAllReduce(used.data(), used.data(), used.size(), rondoUint8,
                                                rondoMax, control_, nullptr),
                                 control_));
  RONDO_RETURN_IF_ERROR(statusOf(
      rondoAllReduce(&emulated, &emulated, 1, rondoUint8, rondoMax, control_, nullptr), control_));
  for (std::size_t at = 0; at < used.size(); ++at) {
    if (used[at] == 0) continue;
    transports_ += fmt::format("{}{}", transports_.empty() ? "" : "+", kTransports[at]);
  }
  if (transports_.empty()) transports_ = "self";
  if (emulated != 0) transports_ += " (emulated adapter)";
  return {};
}

ProcessRank::ProcessRank(ProcessRank&& other) noexcept
    : control_(std::exchange(other.control_, nullptr)),
      rank_(other.rank_),
      ranks_(other.ranks_),
      transports_(std::move(other.transports_)) {}

ProcessRank::~ProcessRank() {
  if (control_ == nullptr) return;
  // The others may still need what this rank has said last.
  (void)rondoBarrier(control_, nullptr);
  (void)rondoCommDestroy(control_);
}

Result<rondoComm_t> ProcessRank::makeCommunicator(const rondoConfig_t& config) const {
  rondoUniqueId_t id{};
  // A failure of rank 0 must not leave the others waiting: they get an id that is none.
  const Status made = rank_ == 0 ? statusOf(rondoGetUniqueId(&id), nullptr) : Status();
  RONDO_RETURN_IF_ERROR(
      statusOf(rondoBroadcast(&id, &id, sizeof id, rondoUint8, 0, control_, nullptr), control_));
  RONDO_RETURN_IF_ERROR(made);
  rondoComm_t comm = nullptr;
  RONDO_RETURN_IF_ERROR(statusOf(rondoCommInitRank(&comm, ranks_, id, rank_, &config), nullptr));
  return comm;
}

Result<std::vector<Result<RankReport>>> ProcessRank::gather(const Result<RankReport>& own) const {
  const WireReport mine = toWire(own);
  std::vector<WireReport> all(static_cast<std::size_t>(ranks_));
  RONDO_RETURN_IF_ERROR(statusOf(
      rondoAllGather(&mine, all.data(), sizeof mine, rondoUint8, control_, nullptr), control_));
  std::vector<Result<RankReport>> reports;
  std::transform(all.begin(), all.end(), std::back_inserter(reports), fromWire);
  return reports;
}

}  // namespace rondo::perf
