// Rondo between processes of this host. Which transport they use is RONDO_TRANSPORT's to say;
// without it, shared memory.
#include "perf/race/harness/launch.h"
#include "perf/race/libraries/rondo_library.h"

int main(int argc, char** argv) {
  namespace race = rondo::race;
  return race::raceProcesses(argc, argv, race::Waiting::kSpin, [](race::Meeting& meeting) {
    return std::make_unique<race::RondoLibrary>(race::joinRanks(meeting));
  });
}
