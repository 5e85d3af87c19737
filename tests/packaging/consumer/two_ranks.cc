// Two ranks, one thread each, add their vectors.
#include <algorithm>
#include <array>
#include <cstdio>
#include <thread>
#include <vector>

#include <rondo/rondo.h>

namespace {

constexpr int kRanks = 2;
constexpr std::size_t kElems = 1000;

bool addVectors(rondoComm_t comm, int rank) {
  std::vector<double> vector(kElems, rank + 1.0);
  const rondoResult_t result =
      rondoAllReduce(vector.data(), vector.data(), kElems, rondoFloat64, rondoSum, comm, nullptr);
  if (result != rondoSuccess) {
    std::fprintf(stderr, "rank %d: %s\n", rank, rondoGetLastError(comm));
    return false;
  }
  return std::all_of(vector.begin(), vector.end(), [](double value) { return value == 3.0; });
}

}  // namespace

int main() {
  std::array<rondoComm_t, kRanks> comms{};
  if (rondoCommInitAll(comms.data(), kRanks, nullptr) != rondoSuccess) {
    std::fprintf(stderr, "init: %s\n", rondoGetLastError(nullptr));
    return 1;
  }
  std::array<bool, kRanks> right{};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] { right[rank] = addVectors(comms[rank], rank); });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (rondoComm_t comm : comms)
    rondoCommDestroy(comm);
  return std::all_of(right.begin(), right.end(), [](bool one) { return one; }) ? 0 : 1;
}
