// Field test L06: a rank whose program ends without destroying its communicator, in one of many
// ways. exit_test.py starts it.
//
//     exit_program WAY    rank and transport come from the environment; with RONDO_RANKS=1 there
//     are
//                         two ranks as threads
//
// Rank 0 sums until that fails, and ends with 0 if the failure names rank 1; rank 1, or the process
// of the threads, ends in the given way.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include "rondo/rondo.h"

namespace {

/// Destroys a communicator when it is itself destroyed.
struct Owner {
  rondoComm_t comm = nullptr;

  ~Owner() {
    if (comm != nullptr) (void)rondoCommDestroy(comm);
  }
};

Owner staticOwner;
thread_local Owner threadOwner;

rondoResult_t sum(rondoComm_t comm) {
  float one = 1;
  return rondoAllReduce(&one, &one, 1, rondoFloat32, rondoSum, comm, nullptr);
}

/// What rank 0 does.
int sumUntilItFails(rondoComm_t comm) {
  rondoResult_t result = rondoSuccess;
  while (result == rondoSuccess)
    result = sum(comm);
  const std::string why = rondoGetLastError(comm);
  std::fprintf(stderr, "rank 0: %d %s\n", result, why.c_str());
  return result == rondoPeerLost && why.find("rank 1") != std::string::npos ? 0 : 1;
}

/// Ends the program while another of its threads is in an operation.
int exitWhileOneWaits(rondoComm_t comm) {
  std::thread waiting([comm] {
    while (sum(comm) == rondoSuccess) {
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds{200});
  std::thread ending([] { std::exit(3); });  // NOLINT(concurrency-mt-unsafe)
  waiting.join();
  ending.join();
  return 1;
}

void destroyAtExit() {
  (void)rondoCommDestroy(staticOwner.comm);
  staticOwner.comm = nullptr;
}

/// @return the exit status, for ways that return from main.
int end(const std::string& way, rondoComm_t comm) {
  if (way == "return") return 3;
  if (way == "static") staticOwner.comm = comm;
  if (way == "thread_local") threadOwner.comm = comm;
  if (way == "atexit") {
    staticOwner.comm = comm;
    std::atexit(destroyAtExit);
  }
  if (way == "exit") std::exit(3);  // NOLINT(concurrency-mt-unsafe)
  if (way == "exit_while_one_waits") return exitWhileOneWaits(comm);
  if (way == "exception") throw std::runtime_error("nobody catches this");
  return 3;
}

int endAsThreads(const std::string& way) {
  rondoComm_t comms[2];  // NOLINT(modernize-avoid-c-arrays): as a C program would
  if (rondoCommInitAll(comms, 2, nullptr) != rondoSuccess) return 1;
  std::thread second([&] { (void)sum(comms[1]); });
  (void)sum(comms[0]);
  second.join();
  return end(way, comms[0]);
}

}  // namespace

int main(int, char** arguments) {
  const std::string way = arguments[1];
  const char* const ranks = std::getenv("RONDO_RANKS");  // NOLINT(concurrency-mt-unsafe)
  if (std::string(ranks) == "1") return endAsThreads(way);
  rondoComm_t comm = nullptr;
  int rank = -1;
  if (rondoCommInitFromEnvironment(&comm, nullptr) != rondoSuccess || sum(comm) != rondoSuccess ||
      rondoCommRank(comm, &rank) != rondoSuccess) {
    std::fprintf(stderr, "%s\n", rondoGetLastError(comm));
    return 1;
  }
  return rank == 0 ? sumUntilItFails(comm) : end(way, comm);
}
