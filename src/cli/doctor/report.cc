#include "src/cli/doctor/report.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "rondo/rondo.h"
#include "src/format.h"

namespace rondo::doctor {

namespace {

using Json = nlohmann::ordered_json;

std::string version() {
  return fmt::format("{}.{}.{}", RONDO_MAJOR, RONDO_MINOR, RONDO_PATCH);
}

std::string findingText(const Finding& finding) {
  std::string text = fmt::format("  {:<8} {}\n", severityName(finding.severity), finding.text);
  if (!finding.cure.empty()) text += fmt::format("           do: {}\n", finding.cure);
  return text;
}

Json pairsJson(const PairFacts& pairs) {
  Json list = Json::array();
  for (const PairSpeed& pair : pairs.speeds) {
    list.push_back({{"ranks", {pair.one, pair.other}},
                    {"transport", pair.transport},
                    {"latency_us", pair.latencyUs},
                    {"bandwidth_gbs", pair.bandwidthGBs}});
  }
  return list;
}

}  // namespace

int countFindings(std::span<const Section> sections, Severity severity) {
  std::ptrdiff_t count = 0;
  for (const Section& section : sections)
    count += std::ranges::count(section.findings, severity, &Finding::severity);
  return static_cast<int>(count);
}

std::string reportText(std::span<const Section> sections, const PairFacts& pairs) {
  std::string text = fmt::format("rondo doctor {}: what this machine offers\n", version());
  for (const Section& section : sections) {
    text += fmt::format("\n{}\n", section.area);
    for (const Finding& finding : section.findings)
      text += findingText(finding);
  }
  if (!pairs.speeds.empty()) text += fmt::format("\n{}", matrixText(pairs));
  return text + fmt::format("\nproblems {}, warnings {}\n",
                            countFindings(sections, Severity::kProblem),
                            countFindings(sections, Severity::kWarning));
}

std::string reportJson(std::span<const Section> sections, const PairFacts& pairs) {
  Json findings = Json::array();
  for (const Section& section : sections) {
    for (const Finding& finding : section.findings) {
      findings.push_back({{"area", section.area},
                          {"severity", severityName(finding.severity)},
                          {"text", finding.text},
                          {"cure", finding.cure.empty() ? Json() : Json(finding.cure)}});
    }
  }
  const Json document = {{"program", "rondo doctor"},
                         {"version", version()},
                         {"problems", countFindings(sections, Severity::kProblem)},
                         {"warnings", countFindings(sections, Severity::kWarning)},
                         {"findings", std::move(findings)},
                         {"latency_bytes", kLatencyBytes},
                         {"bandwidth_bytes", kBandwidthBytes},
                         {"pairs", pairsJson(pairs)}};
  // Names of interfaces and devices need not be UTF-8.
  constexpr int kIndent = 1;
  return document.dump(kIndent, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace rondo::doctor
