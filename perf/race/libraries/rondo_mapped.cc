// Rondo between processes of this host whose buffers are memory of rondoMemAlloc, which the others
// can map: not what a program has that knows nothing of Rondo, so it races in a table of its own.
#include "perf/race/harness/launch.h"
#include "perf/race/libraries/rondo_library.h"

int main(int argc, char** argv) {
  namespace race = rondo::race;
  return race::raceProcesses(argc, argv, race::Waiting::kSpin, [](race::Meeting& meeting) {
    return std::make_unique<race::RondoLibrary>(race::joinRanks(meeting),
                                                race::BufferSource::kRondo);
  });
}
