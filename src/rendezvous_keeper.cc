#include "src/rendezvous_keeper.h"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace rondo {

namespace {

struct Keeper {
  std::mutex mutex;
  std::vector<std::unique_ptr<Rendezvous>> kept;
};

/// Never destroyed: at exit its threads may still be serving, and end with the process.
Keeper& keeper() {
  static auto* instance = new Keeper;
  return *instance;
}

}  // namespace

RendezvousSettings rendezvousSettings(const Config& config) {
  RendezvousSettings settings;
  settings.initTimeout = config.initTimeout;
  settings.givenUp = config.givenUp;
  settings.interfaces = config.meeting.interfaces;
  settings.portFirst = config.meeting.portFirst;
  settings.portLast = config.meeting.portLast;
  settings.advertisedAddress = config.meeting.advertise;
  return settings;
}

Result<UniqueId> serveRendezvous(const RendezvousSettings& settings) {
  Result<std::unique_ptr<Rendezvous>> rendezvous = Rendezvous::start(settings);
  if (!rendezvous.ok()) return std::move(rendezvous).status();
  const UniqueId id = (*rendezvous)->id();
  keepRendezvous(*std::move(rendezvous));
  return id;
}

void keepRendezvous(std::unique_ptr<Rendezvous> rendezvous) {
  Keeper& all = keeper();
  const std::scoped_lock lock(all.mutex);
  std::erase_if(all.kept, [](const auto& served) { return served->ended(); });
  all.kept.push_back(std::move(rendezvous));
}

}  // namespace rondo
