#include "perf/race/harness/work.h"

#include <algorithm>
#include <utility>

namespace rondo::race {

namespace {

constexpr std::pair<Operation, std::string_view> kNames[] = {
    {Operation::kAllReduce, "all_reduce"}, {Operation::kReduceScatter, "reduce_scatter"},
    {Operation::kAllGather, "all_gather"}, {Operation::kBroadcast, "broadcast"},
    {Operation::kReduce, "reduce"},        {Operation::kAllToAll, "all_to_all"},
    {Operation::kSendRecv, "send_recv"}};

constexpr std::size_t kWidestElement = 8;

}  // namespace

std::string_view operationName(Operation operation) {
  for (const auto& [value, name] : kNames) {
    if (value == operation) return name;
  }
  return "unknown";
}

std::optional<Operation> operationNamed(std::string_view name) {
  for (const auto& [value, itsName] : kNames) {
    if (itsName == name) return value;
  }
  return std::nullopt;
}

bool hasInPlace(Operation operation) {
  return operation != Operation::kAllToAll && operation != Operation::kSendRecv;
}

bool hasBlocks(Operation operation) {
  return operation == Operation::kReduceScatter || operation == Operation::kAllGather ||
         operation == Operation::kAllToAll;
}

Work layOut(Work work, std::size_t size, std::byte* first, std::byte* second) {
  const std::size_t elements = std::max<std::size_t>(size / elementBytes(work.type), 1);
  const auto blocks = hasBlocks(work.operation) ? static_cast<std::size_t>(work.ranks) : 1;
  work.blockCount = std::max<std::size_t>(elements / blocks, 1);
  work.count = work.blockCount * blocks;
  work.send = first;
  work.recv = work.inPlace ? first : second;
  std::byte* ownBlock = first + static_cast<std::size_t>(work.rank) * work.blockBytes();
  if (work.inPlace && work.operation == Operation::kAllGather) work.send = ownBlock;
  if (work.inPlace && work.operation == Operation::kReduceScatter) work.recv = ownBlock;
  return work;
}

std::size_t bufferBytes(std::size_t size, int ranks) {
  return std::max(size, kWidestElement * static_cast<std::size_t>(ranks));
}

}  // namespace rondo::race
