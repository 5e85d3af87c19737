#include "perf/race/harness/values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/element.h"

namespace rondo::race {

namespace {

/// Values repeat after this many elements, and differ between so many ranks. No power of two, so
/// that a block in a wrong place shows. Every partial sum over 64 ranks is below 128, and bfloat16
/// counts in ones up to 256.
constexpr std::size_t kPeriod = 13;

/// Element `index` of `rank`'s whole input, -6 to 6.
int inputValue(int rank, std::size_t index, int salt) {
  const std::size_t mixed = static_cast<std::size_t>(rank * 5 + salt) + index * 3;
  return static_cast<int>(mixed % kPeriod) - kHighestInput;
}

int summedValue(int ranks, std::size_t index, int salt) {
  int sum = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    sum += inputValue(rank, index, salt);
  }
  return sum;
}

template <class Bits>
void store(std::byte* place, Bits bits) {
  std::memcpy(place, &bits, sizeof bits);
}

void encode(DataType type, int value, std::byte* place) {
  const auto number = static_cast<float>(value);
  if (type == DataType::kFloat16) return store(place, Float16::fromFloat(number));
  if (type == DataType::kBfloat16) return store(place, Bfloat16::fromFloat(number));
  store(place, number);
}

/// Periodic values, encoded: written and compared by blocks.
class Pattern {
 public:
  /// @param valueAt the value of an element by its index, with period kPeriod.
  template <class ValueAt>
  Pattern(DataType type, const ValueAt& valueAt)
      : elementBytes_(elementBytes(type)), block_(kBlockElements * elementBytes_) {
    for (std::size_t i = 0; i < kBlockElements; ++i) {
      encode(type, valueAt(i), &block_[i * elementBytes_]);
    }
  }

  void write(std::byte* place, std::size_t count) const {
    forEachBlock(place, count,
                 [&](std::byte* at, std::size_t bytes) { std::memcpy(at, block_.data(), bytes); });
  }

  /// @param tolerance of floats only
  std::uint64_t differences(const std::byte* place, std::size_t count, float tolerance = 0) const {
    std::uint64_t different = 0;
    forEachBlock(place, count, [&](const std::byte* at, std::size_t bytes) {
      if (std::memcmp(at, block_.data(), bytes) != 0)
        different += differencesInBlock(at, bytes, tolerance);
    });
    return different;
  }

 private:
  static constexpr std::size_t kBlockElements = kPeriod * 512;

  template <class Byte, class Visit>
  void forEachBlock(Byte* place, std::size_t count, const Visit& visit) const {
    for (std::size_t done = 0; done < count; done += kBlockElements) {
      visit(place + done * elementBytes_, std::min(kBlockElements, count - done) * elementBytes_);
    }
  }

  std::uint64_t differencesInBlock(const std::byte* at, std::size_t bytes, float tolerance) const {
    std::uint64_t different = 0;
    for (std::size_t i = 0; i < bytes; i += elementBytes_) {
      if (std::memcmp(at + i, &block_[i], elementBytes_) == 0) continue;
      if (tolerance == 0 || !near(at + i, &block_[i], tolerance)) ++different;
    }
    return different;
  }

  /// False for NaN.
  static bool near(const std::byte* one, const std::byte* other, float tolerance) {
    float values[2];
    std::memcpy(&values[0], one, sizeof(float));
    std::memcpy(&values[1], other, sizeof(float));
    return std::abs(values[0] - values[1]) <= tolerance;
  }

  std::size_t elementBytes_;
  std::vector<std::byte> block_;
};

std::size_t blockStart(const Work& work, int rank) {
  return static_cast<std::size_t>(rank) * work.blockCount;
}

/// `count` elements of `rank`'s input, from element `start` on.
Pattern inputPattern(const Work& work, int rank, std::size_t start, int salt) {
  return {work.type, [=](std::size_t i) { return inputValue(rank, start + i, salt); }};
}

Pattern sumPattern(const Work& work, std::size_t start, int salt) {
  const int ranks = work.ranks;
  return {work.type, [=](std::size_t i) { return summedValue(ranks, start + i, salt); }};
}

/// For results that hold one block of each rank's input: its block `startOf(rank)`.
template <class StartOf>
std::uint64_t wrongBlocks(const Work& work,
                          const std::byte* result,
                          int salt,
                          const StartOf& startOf) {
  std::uint64_t wrong = 0;
  for (int rank = 0; rank < work.ranks; ++rank) {
    const Pattern expected = inputPattern(work, rank, startOf(rank), salt);
    wrong += expected.differences(result + blockStart(work, rank) * elementBytes(work.type),
                                  work.blockCount);
  }
  return wrong;
}

}  // namespace

void fillBuffers(const Work& work, int salt) {
  constexpr int kNanByte = 0xff;
  std::memset(work.recv, kNanByte, work.recvCount() * elementBytes(work.type));
  if (work.operation == Operation::kBroadcast && !work.isRoot()) return;
  const bool isBlock = work.operation == Operation::kAllGather;
  const std::size_t start = isBlock ? blockStart(work, work.rank) : 0;
  inputPattern(work, work.rank, start, salt).write(work.send, work.sendCount());
}

std::uint64_t wrongElements(const Work& work, const std::byte* result, int salt, float tolerance) {
  switch (work.operation) {
    case Operation::kReduce:
      if (!work.isRoot()) return 0;
      [[fallthrough]];
    case Operation::kAllReduce:
      return sumPattern(work, 0, salt).differences(result, work.count, tolerance);
    case Operation::kReduceScatter:
      return sumPattern(work, blockStart(work, work.rank), salt)
          .differences(result, work.blockCount, tolerance);
    case Operation::kAllGather:
      return wrongBlocks(work, result, salt, [&](int rank) { return blockStart(work, rank); });
    case Operation::kAllToAll:
      return wrongBlocks(work, result, salt, [&](int) { return blockStart(work, work.rank); });
    case Operation::kBroadcast:
      return inputPattern(work, Work::kRoot, 0, salt).differences(result, work.count);
    case Operation::kSendRecv:
      return inputPattern(work, work.previous(), 0, salt).differences(result, work.count);
  }
  return 1;
}

}  // namespace rondo::race
