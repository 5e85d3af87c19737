// The two bandwidths of a measurement, as nccl-tests defines them, so that numbers can be compared.
//
// The algorithm bandwidth is the size of the operation over its time. What "size" is (the column
// size, S) depends on the operation: all of the vector that the ranks hold together.
//
// The bus bandwidth is what each link would have to carry if the operation were done with the least
// possible traffic. It does not depend on the number of ranks, so it can be held against the
// hardware's peak:
//
//   operation        S in bytes               bus / algorithm, n ranks
//   ---------------  -----------------------  ------------------------
//   all_reduce       count x element          2 (n - 1) / n
//   reduce_scatter   count x element x n      (n - 1) / n
//   all_gather       count x element x n      (n - 1) / n
//   broadcast        count x element          1
//   reduce           count x element          1
//   barrier          0                        -
//
// An all-reduce must take n - 1 of n parts in and bring n - 1 of n results back: of S bytes, each
// rank's link carries 2 (n - 1) / n each way. Half of that is a reduce-scatter or an all-gather.
#pragma once

#include <cstddef>

#include "collectives/schedule.h"
#include "kernels/data_type.h"

namespace rondo::perf {

struct Bandwidth {
  double algorithmGBs = 0;  ///< 10^9 bytes per second
  double busGBs = 0;
};

/// Bus over algorithm bandwidth.
double busFactor(Collective collective, int ranks);

/// @param bytes   S of the table above
/// @param seconds of one operation; 0 gives bandwidths of 0
Bandwidth bandwidthOf(Collective collective, int ranks, std::size_t bytes, double seconds);

/// The `count` argument for an operation of at most `bytes` bytes S.
std::size_t countForBytes(Collective collective, DataType type, int ranks, std::size_t bytes);

/// S of an operation of `count`.
std::size_t bytesOfCount(Collective collective, DataType type, int ranks, std::size_t count);

}  // namespace rondo::perf
