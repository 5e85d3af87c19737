// Rondo between threads of one process.
#include <vector>

#include "perf/race/harness/launch.h"
#include "perf/race/libraries/rondo_library.h"

namespace rondo::race {

namespace {

MakeLibrary makeCommunicators(int ranks) {
  std::vector<rondoComm_t> communicators(static_cast<std::size_t>(ranks));
  requireSuccess(rondoCommInitAll(communicators.data(), ranks, nullptr));
  return [communicators](Meeting& meeting) {
    return std::make_unique<RondoLibrary>(communicators[static_cast<std::size_t>(meeting.rank())]);
  };
}

}  // namespace

}  // namespace rondo::race

int main(int argc, char** argv) {
  return rondo::race::raceThreads(argc, argv, rondo::race::makeCommunicators);
}
