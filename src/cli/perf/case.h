// What `rondo perf` measures: one operation on one size, and what came out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "collectives/registry.h"
#include "kernels/data_type.h"
#include "src/cli/perf/operation.h"

namespace rondo::perf {

/// One line of the table.
struct Case {
  Collective collective = Collective::kAllReduce;
  Form form = Form::kCollective;
  bool uneven = false;                   ///< BlockSizes; where blocks may be of different sizes
  std::optional<AlgorithmId> algorithm;  ///< empty: the planner's choice
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;
  std::size_t count = 0;  ///< as the call is given it
  std::size_t bytes = 0;  ///< of the operation (bandwidth.h)
};

constexpr Operation operationOf(const Case& one) {
  return {one.collective, one.form};
}

constexpr BlockSizes blocksOf(const Case& one) {
  return {one.count, one.uneven};
}

/// "sum"; "none" where nothing is reduced.
constexpr std::string_view redOpText(const Case& one) {
  return isReduction(one.collective) ? reduceOpName(one.op) : "none";
}

/// -1 where there is none.
constexpr int rootOrNone(const Case& one) {
  return hasRoot(operationOf(one)) ? one.root : -1;
}

/// "planner" where none was asked for.
constexpr std::string_view algorithmText(const Case& one) {
  return one.algorithm ? algorithmInfo(*one.algorithm).name : "planner";
}

enum class Placement : std::uint8_t { kOutOfPlace, kInPlace };

constexpr std::string_view placementName(Placement placement) {
  return placement == Placement::kInPlace ? "in_place" : "out_of_place";
}

/// What memory the operations are given.
enum class BufferKind : std::uint8_t {
  kMalloc,     ///< any
  kRondo,      ///< that of rondoMemAlloc
  kRegistered  ///< any, registered with the communicator
};

constexpr std::string_view bufferKindName(BufferKind kind) {
  switch (kind) {
    case BufferKind::kRondo:
      return "rondo";
    case BufferKind::kRegistered:
      return "registered";
    default:
      return "malloc";
  }
}

/// Which rank's time goes into the table; the values of nccl-tests' -a.
enum class TimeOf : std::uint8_t { kRank0, kAverage, kFastest, kSlowest };

/// One case with one placement.
struct Measurement {
  double rank0Seconds = 0;  ///< of one operation
  double averageSeconds = 0;
  double fastestSeconds = 0;
  double slowestSeconds = 0;
  bool checked = false;
  std::size_t wrong = 0;  ///< elements on all ranks, out-of-bounds writes included

  double seconds(TimeOf which) const {
    switch (which) {
      case TimeOf::kRank0:
        return rank0Seconds;
      case TimeOf::kFastest:
        return fastestSeconds;
      case TimeOf::kSlowest:
        return slowestSeconds;
      default:
        return averageSeconds;
    }
  }
};

/// One line of the table, measured; once where buffers cannot lie in each other.
struct Row {
  Case what;
  int cycle = 0;
  Measurement outOfPlace;
  std::optional<Measurement> inPlace;
};

}  // namespace rondo::perf
