#include "transports/cuda_ipc/device_ways.h"

#include <algorithm>
#include <span>
#include <utility>

#include "src/log.h"

namespace rondo::cuda {

namespace {

/// What trying one peer has come to.
struct Finding {
  Way way = Way::kWire;
  std::string why;  ///< not direct although on one host; else empty
};

/// A rank of the own process.
Finding tryNeighbour(const Device& own, int device) {
  const Result<bool> reached = own.reach(device);
  if (reached.ok() && *reached) return {Way::kDirect, {}};
  return {Way::kPinned, reached.ok() ? "no NVLink or PCIe peer access between them"
                                     : std::string(reached.status().message())};
}

class Search {
 public:
  Search(const DeviceRank& self, std::span<const MemoryName> names)
      : self_(self), host_(names[static_cast<std::size_t>(self.rank)].host), names_(names) {}

  /// Closes again what it opens.
  Finding tryPeer(int peer) const {
    const MemoryName& name = names_[static_cast<std::size_t>(peer)];
    if (name.host != host_) return {};
    if (!self_.directAllowed) return {};
    if (inOwnProcess(name, host_)) return tryNeighbour(*self_.device, name.device);
    const Result<SharedMemory> opened = openMemory(name, *self_.device, host_);
    if (opened.ok()) return {Way::kDirect, {}};
    return {Way::kWire, std::string(opened.status().message())};
  }

 private:
  const DeviceRank& self_;
  std::uint64_t host_;
  std::span<const MemoryName> names_;
};

/// Of the first of `findings`, by peer, that says why there is one.
void warnOfDetour(const DeviceRank& self, std::span<const Finding> findings) {
  const auto unwanted =
      std::ranges::find_if(findings, [](const Finding& finding) { return !finding.why.empty(); });
  if (unwanted == findings.end()) return;
  const auto peer = unwanted - findings.begin();
  const Finding& finding = *unwanted;
  RONDO_LOG(
      kWarn, kTransport, (LogContext{self.rank, self.communicator}),
      "ranks {} and {} cannot use each other's GPU memory ({}); what crosses between such "
      "ranks goes through {}",
      self.rank, peer, finding.why,
      finding.way == Way::kPinned ? "pinned memory of the host" : "the transports of the host");
}

/// Kernels that wait for each other on one GPU, of two launches.
void warnOfSharing(const DeviceRank& self, std::span<const MemoryName> names) {
  if (!self.acrossProcesses) return;
  for (int peer = self.rank + 1; peer < self.ranks; ++peer) {
    if (names[static_cast<std::size_t>(peer)].uuid != self.device->uuid()) continue;
    RONDO_LOG(kWarn, kTransport, (LogContext{self.rank, self.communicator}),
              "ranks {} and {} use the same GPU, {}, by kernels of their own, which may have to "
              "take turns at each step; use one rank per GPU, or rondoCommInitAllOnDevices",
              self.rank, peer, self.device->name());
    return;
  }
}

}  // namespace

DeviceWays::DeviceWays(int ranks)
    : ranks_(static_cast<std::size_t>(ranks)),
      seen_(ranks_ * ranks_, Way::kDirect),
      outside_(ranks_, false) {}

Result<DeviceWays> DeviceWays::findOut(const DeviceRank& self, const GatherBytes& gather) {
  Result<Memory> allocated = self.device->allocate(kDevicePageBytes);
  RONDO_RETURN_IF_ERROR(allocated.status());
  const SharedMemory probe = std::make_shared<const Memory>(*std::move(allocated));
  Result<DeviceWays> found = tryAll(self, probe, gather);
  // Others may still have it open, unless all have said that they are done.
  if (!found.ok() && self.acrossProcesses) leaveBehind(probe);
  return found;
}

DeviceWays DeviceWays::findOut(std::span<const DeviceRank> selves) {
  DeviceWays ways(static_cast<int>(selves.size()));
  ways.seen_.clear();
  for (const DeviceRank& self : selves) {
    std::vector<Finding> findings;
    for (const DeviceRank& peer : selves) {
      findings.push_back(tryNeighbour(*self.device, peer.device->ordinal()));
      ways.seen_.push_back(findings.back().way);
    }
    warnOfDetour(self, findings);
  }
  return ways;
}

Result<DeviceWays> DeviceWays::tryAll(const DeviceRank& self,
                                      const SharedMemory& probe,
                                      const GatherBytes& gather) {
  const std::uint64_t host = hashOfHost(self.hostIdentity);
  const MemoryName own = nameMemory(probe, *self.device, host);
  DeviceWays ways(self.ranks);
  std::vector<MemoryName> names(ways.ranks_);
  RONDO_RETURN_IF_ERROR(
      gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(names))));
  const Search search(self, names);
  std::vector<Way> row(ways.ranks_, Way::kDirect);
  std::vector<Finding> findings(ways.ranks_);
  for (int peer = 0; peer < self.ranks; ++peer) {
    const auto place = static_cast<std::size_t>(peer);
    ways.outside_[place] = names[place].host == host && !inOwnProcess(names[place], host);
    if (peer == self.rank) continue;
    findings[place] = search.tryPeer(peer);
    row[place] = findings[place].way;
  }
  // Afterwards nobody has anybody's memory open, so all may free theirs.
  RONDO_RETURN_IF_ERROR(
      gather(std::as_bytes(std::span(row)), std::as_writable_bytes(std::span(ways.seen_))));
  warnOfDetour(self, findings);
  warnOfSharing(self, names);
  return ways;
}

Way DeviceWays::between(int one, int other) const {
  const auto seen = [this](int from, int to) {
    return seen_[static_cast<std::size_t>(from) * ranks_ + static_cast<std::size_t>(to)];
  };
  return std::max(seen(one, other), seen(other, one));
}

bool DeviceWays::anyWire() const {
  return std::ranges::find(seen_, Way::kWire) != seen_.end();
}

}  // namespace rondo::cuda
