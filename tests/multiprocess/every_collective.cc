#include "tests/multiprocess/every_collective.h"

#include <cstdio>
#include <string_view>
#include <vector>

namespace rondo::testing {

namespace {

/// What rank `rank` contributes to element `index`; small, so that sums are exact in any order.
float value(int rank, std::size_t index) {
  return static_cast<float>(rank + 1) + static_cast<float>(index % 97);
}

/// The sum of value() over all ranks.
float sumOfValues(int ranks, std::size_t index) {
  return static_cast<float>(ranks * (ranks + 1) / 2) +
         static_cast<float>(ranks) * static_cast<float>(index % 97);
}

std::vector<float> contribution(int rank, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = value(rank, i);
  return values;
}

/// 0 if element i of `got` is `expected(i)` for all i.
template <class Expected>
int countWrong(const char* what, const std::vector<float>& got, Expected expected) {
  int wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    wrong += got[i] == expected(i) ? 0 : 1;
  if (wrong > 0) std::fprintf(stderr, "%s: %d of %zu wrong\n", what, wrong, got.size());
  return wrong;
}

}  // namespace

int failed(rondoComm_t comm, rondoResult_t result) {
  if (result == rondoSuccess) return 0;
  std::fprintf(stderr, "%s\n", rondoGetLastError(comm));
  return 1;
}

namespace {

/// All-to-all, and gather and scatter at some roots.
int exchangeBlocks(rondoComm_t comm, int ranks, int rank, std::size_t count, int rootStride) {
  const auto n = static_cast<std::size_t>(ranks);
  const std::size_t ownBlock = static_cast<std::size_t>(rank) * count;
  const std::vector<float> own = contribution(rank, count * n);
  std::vector<float> block(count);
  std::vector<float> all(count * n);
  int wrong =
      failed(comm, rondoAllToAll(own.data(), all.data(), count, rondoFloat32, comm, nullptr));
  wrong += countWrong("all_to_all", all, [&](std::size_t i) {
    return value(static_cast<int>(i / count), ownBlock + i % count);
  });
  for (int root = 0; root < ranks; root += rootStride) {
    const bool isRoot = rank == root;
    wrong += failed(comm, rondoGather(own.data(), isRoot ? all.data() : nullptr, count,
                                      rondoFloat32, root, comm, nullptr));
    if (isRoot) {
      wrong += countWrong("gather", all, [&](std::size_t i) {
        return value(static_cast<int>(i / count), i % count);
      });
    }
    wrong += failed(comm, rondoScatter(isRoot ? own.data() : nullptr, block.data(), count,
                                       rondoFloat32, root, comm, nullptr));
    wrong += countWrong("scatter", block, [&](std::size_t i) { return value(root, ownBlock + i); });
  }
  return wrong;
}

/// The compressed collectives, with a codec that holds all sums of up to 8 ranks as they are.
int compress(rondoComm_t comm, int ranks, int rank, std::size_t count) {
  const auto n = static_cast<std::size_t>(ranks);
  const std::vector<float> own = contribution(rank, count * n);
  std::vector<float> result(count);
  std::vector<float> all(count * n);
  rondoCompression_t how = RONDO_COMPRESSION_INITIALIZER;
  how.codec = rondoCodecFloat16;
  const rondoResult_t first = rondoAllReduceCompressed(own.data(), result.data(), count,
                                                       rondoFloat32, rondoSum, &how, comm, nullptr);
  // Ranks on devices cannot, and say so.
  const std::string_view refusal = rondoGetLastError(comm);
  if (first == rondoNotSupported && refusal.find("CUDA devices") != refusal.npos) return 0;
  int wrong = failed(comm, first);
  wrong += countWrong("compressed all_reduce", result,
                      [&](std::size_t i) { return sumOfValues(ranks, i); });
  wrong += failed(comm, rondoReduceScatterCompressed(own.data(), result.data(), count, rondoFloat32,
                                                     rondoSum, &how, comm, nullptr));
  wrong += countWrong("compressed reduce_scatter", result, [&](std::size_t i) {
    return sumOfValues(ranks, i + static_cast<std::size_t>(rank) * count);
  });
  wrong += failed(comm, rondoAllGatherCompressed(own.data(), all.data(), count, rondoFloat32, &how,
                                                 comm, nullptr));
  wrong += countWrong("compressed all_gather", all,
                      [&](std::size_t i) { return value(static_cast<int>(i / count), i % count); });
  return wrong;
}

}  // namespace

int callEverything(rondoComm_t comm, int ranks, int rank, std::size_t count, int rootStride) {
  const auto n = static_cast<std::size_t>(ranks);
  const std::vector<float> own = contribution(rank, count * n);
  std::vector<float> result(count);
  std::vector<float> all(count * n);
  int wrong = failed(comm, rondoAllReduce(own.data(), result.data(), count, rondoFloat32, rondoSum,
                                          comm, nullptr));
  wrong += countWrong("all_reduce", result, [&](std::size_t i) { return sumOfValues(ranks, i); });
  wrong += failed(comm, rondoReduceScatter(own.data(), result.data(), count, rondoFloat32, rondoSum,
                                           comm, nullptr));
  wrong += countWrong("reduce_scatter", result, [&](std::size_t i) {
    return sumOfValues(ranks, i + static_cast<std::size_t>(rank) * count);
  });
  wrong += failed(comm, rondoAllGather(own.data(), all.data(), count, rondoFloat32, comm, nullptr));
  wrong += countWrong("all_gather", all,
                      [&](std::size_t i) { return value(static_cast<int>(i / count), i % count); });
  for (int root = 0; root < ranks; root += rootStride) {
    wrong += failed(
        comm, rondoBroadcast(own.data(), result.data(), count, rondoFloat32, root, comm, nullptr));
    wrong += countWrong("broadcast", result, [&](std::size_t i) { return value(root, i); });
    wrong += failed(comm, rondoReduce(own.data(), rank == root ? result.data() : nullptr, count,
                                      rondoFloat32, rondoSum, root, comm, nullptr));
    if (rank == root) {
      wrong += countWrong("reduce", result, [&](std::size_t i) { return sumOfValues(ranks, i); });
    }
  }
  wrong += exchangeBlocks(comm, ranks, rank, count, rootStride);
  if (ranks <= 8) wrong += compress(comm, ranks, rank, count);
  return wrong + failed(comm, rondoBarrier(comm, nullptr));
}

int sumExactly(rondoComm_t comm, int ranks, int rank, std::size_t count) {
  const std::vector<float> own = contribution(rank, count);
  std::vector<float> result(count);
  return failed(comm, rondoAllReduce(own.data(), result.data(), count, rondoFloat32, rondoSum, comm,
                                     nullptr)) +
         countWrong("all_reduce", result, [&](std::size_t i) { return sumOfValues(ranks, i); });
}

}  // namespace rondo::testing
