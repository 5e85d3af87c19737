// Rondo between processes of this host. Which transport they use is RONDO_TRANSPORT's to say;
// without it, shared memory.
#include "perf/race/harness/launch.h"
#include "perf/race/libraries/rondo_library.h"

namespace rondo::race {

namespace {

std::unique_ptr<Library> joinRanks(Meeting& meeting) {
  rondoUniqueId_t ids[Meeting::kMostRanks];
  rondoUniqueId_t id{};
  if (meeting.rank() == 0) requireSuccess(rondoGetUniqueId(&id));
  meeting.allGather(&id, ids, sizeof id);
  rondoComm_t communicator = nullptr;
  requireSuccess(
      rondoCommInitRank(&communicator, meeting.ranks(), ids[0], meeting.rank(), nullptr));
  return std::make_unique<RondoLibrary>(communicator);
}

}  // namespace

}  // namespace rondo::race

int main(int argc, char** argv) {
  return rondo::race::raceProcesses(argc, argv, rondo::race::Waiting::kSpin,
                                    rondo::race::joinRanks);
}
