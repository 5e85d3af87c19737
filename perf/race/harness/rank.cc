#include "perf/race/harness/rank.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "perf/race/harness/processors.h"
#include "perf/race/harness/timing.h"
#include "perf/race/harness/values.h"

namespace rondo::race {

namespace {

constexpr double kMicroseconds = 1e6;

struct Cell {
  Work call;  ///< without counts and buffers
  std::size_t size = 0;
};

/// Every operation with every type, place and size.
std::vector<Cell> cellsOf(const Options& options, int rank, int ranks) {
  std::vector<Work> calls;
  for (const Operation operation : options.operations) {
    for (const DataType type : options.types) {
      Work call{.operation = operation, .type = type, .rank = rank, .ranks = ranks};
      if (options.outOfPlace) calls.push_back(call);
      call.inPlace = true;
      if (options.inPlace && hasInPlace(operation)) calls.push_back(call);
    }
  }
  std::vector<Cell> cells;
  cells.reserve(calls.size() * options.sizes.size());
  for (const Work& call : calls) {
    for (const std::size_t size : options.sizes) {
      cells.push_back({call, size});
    }
  }
  return cells;
}

/// One rank, its library and its two buffers.
class Racer {
 public:
  Racer(Meeting& meeting, Library& library, const Options& options)
      : meeting_(meeting), library_(library), budgetSeconds_(options.budgetSeconds) {
    const std::size_t largest = *std::max_element(options.sizes.begin(), options.sizes.end());
    const std::size_t bytes = bufferBytes(largest, meeting.ranks());
    first_ = library.allocate(bytes);
    second_ = library.allocate(bytes);
  }

  /// @return false if a result was wrong.
  bool raceCell(const Cell& cell) {
    const Work work = layOut(cell.call, cell.size, first_, second_);
    if (!library_.supports(work)) return true;
    meeting_.barrier();
    library_.prepare(work);
    std::uint64_t wrong = countWrong(work, 1);
    // In place each call adds to the last one's result; zeros stay zeros.
    if (work.inPlace) std::memset(first_, 0, work.bytes());
    meeting_.barrier();
    const double lineHop = meeting_.lineHop();
    const Times times = timeCalls(meeting_, library_, work, budgetSeconds_);
    wrong += countWrong(work, 2);
    if (meeting_.rank() == 0) print(work, cell.size, wrong, lineHop, times);
    return wrong == 0;
  }

 private:
  /// Wrong elements on all ranks after one call.
  std::uint64_t countWrong(const Work& work, int salt) {
    fillBuffers(work, salt);
    meeting_.barrier();
    library_.run(work);
    return meeting_.sum(wrongElements(work, library_.result(work), salt, library_.tolerance(work)));
  }

  static void print(
      const Work& work, std::size_t size, std::uint64_t wrong, double lineHop, const Times& times) {
    std::printf(R"({"op":"%s","type":"%s","place":"%s","ranks":%d,"size":%zu,"bytes":%zu,)",
                operationName(work.operation).data(), dataTypeName(work.type).data(),
                work.inPlace ? "in" : "out", work.ranks, size, work.bytes());
    std::printf(R"("wrong":%llu,"hop_us":%.4f,)", static_cast<unsigned long long>(wrong),
                lineHop * kMicroseconds);
    if (times.single) {
      const SingleCalls& single = *times.single;
      std::printf(R"("calls":%zu,"time_us":%.4f,"min_us":%.4f,"p90_us":%.4f,)", single.calls,
                  single.median * kMicroseconds, single.least * kMicroseconds,
                  single.ninthDecile * kMicroseconds);
      std::printf(R"("clean_calls":%zu,"clean_us":%.4f,)", single.undisturbedCalls,
                  single.undisturbedMedian * kMicroseconds);
    }
    std::printf("\"loop_us\":%.4f,\"loop_min_us\":%.4f}\n", times.inARow.median * kMicroseconds,
                times.inARow.least * kMicroseconds);
    std::fflush(stdout);
  }

  Meeting& meeting_;
  Library& library_;
  double budgetSeconds_;
  std::byte* first_ = nullptr;
  std::byte* second_ = nullptr;
};

}  // namespace

int raceRank(Meeting& meeting, Library& library, const Options& options) {
  if (meeting.ownsProcessor()) bindThisThread(meeting.rank());
  Racer racer(meeting, library, options);
  bool allRight = true;
  for (const Cell& cell : cellsOf(options, meeting.rank(), meeting.ranks())) {
    allRight = racer.raceCell(cell) && allRight;
  }
  meeting.barrier();
  return allRight ? 0 : 1;
}

}  // namespace rondo::race
