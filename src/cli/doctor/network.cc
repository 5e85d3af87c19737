#include "src/cli/doctor/network.h"

#include <algorithm>

#include "src/bootstrap/unique_id.h"
#include "src/format.h"

namespace rondo::doctor {

namespace {

std::string nameOf(const InterfaceAddress& entry) {
  return fmt::format("{} {}", entry.name, entry.address.hostText());
}

void addRanked(const std::vector<InterfaceAddress>& ranked, Findings& findings) {
  const std::vector<InterfaceAddress> told = takeBest(ranked, kMostAddresses);
  for (std::size_t place = 0; place < told.size(); ++place) {
    findings.push_back(
        ok(fmt::format("{} is told to others as choice {}", nameOf(told[place]), place + 1)));
  }
  for (const InterfaceAddress& entry : ranked) {
    const bool isTold = std::any_of(told.begin(), told.end(), [&](const InterfaceAddress& one) {
      return one.address == entry.address;
    });
    if (isTold) continue;
    findings.push_back(
        note(fmt::format("{} could be used but is not told to others: {} better ones "
                         "are",
                         nameOf(entry), told.size())));
  }
  if (std::all_of(ranked.begin(), ranked.end(),
                  [](const InterfaceAddress& entry) { return entry.address.isLoopback(); })) {
    findings.push_back(
        warning("only loopback can be used: ranks of other hosts cannot reach "
                "those here",
                "ip link set dev INTERFACE up; ip address add ADDRESS/24 dev "
                "INTERFACE (ip -brief address lists them)"));
  }
}

}  // namespace

NetworkFacts readNetwork(const Config& config) {
  NetworkFacts facts;
  Result<std::vector<InterfaceAddress>> addresses = findInterfaceAddresses();
  facts.listed = addresses.status();
  if (addresses.ok()) facts.addresses = *std::move(addresses);
  facts.pattern = config.meeting.interfaces;
  facts.routed = defaultRoutedAddress();
  facts.advertised = config.meeting.advertise;
  return facts;
}

Findings examine(const NetworkFacts& facts) {
  if (!facts.listed.ok()) {
    return {problem(std::string(facts.listed.message()),
                    "export RONDO_ADVERTISE=ADDRESS, which needs no list of interfaces")};
  }
  Findings findings;
  if (!facts.advertised.empty()) {
    findings.push_back(note(fmt::format(
        "RONDO_ADVERTISE tells others {} instead of the addresses below", facts.advertised)));
  }
  const InterfaceRule rule{facts.pattern, facts.routed};
  const Result<std::vector<InterfaceAddress>> ranked = rankInterfaces(facts.addresses, rule);
  if (!ranked.ok()) {
    findings.push_back(
        problem(std::string(ranked.status().message()),
                facts.pattern.empty() ? "ip link set dev lo up" : "unset RONDO_INTERFACE"));
    return findings;
  }
  addRanked(*ranked, findings);
  for (const InterfaceAddress& entry : facts.addresses) {
    const std::string why = whyLeftOut(entry, facts.addresses, rule);
    if (why.empty()) continue;
    findings.push_back(note(fmt::format("{} is not used: it {}", nameOf(entry), why)));
  }
  return findings;
}

}  // namespace rondo::doctor
