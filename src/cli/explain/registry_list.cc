#include "src/cli/explain/registry_list.h"

#include "collectives/registry.h"
#include "src/cli/text_table.h"
#include "src/format.h"

namespace rondo::cli {

namespace {

/// What partial results are carried in.
std::string accumulatorText(DataType type, ReduceOp op) {
  if (accumulatorBytes(type, op) == elementBytes(type)) return std::string(dataTypeName(type));
  return isFloat(type) ? "float" : "64-bit integers";
}

}  // namespace

std::string_view orderName(FoldOrder order) {
  switch (order) {
    case FoldOrder::kRankOrder:
      return "rank order";
    case FoldOrder::kHopRounded:
      return "path order";
    default:
      return "moves only";
  }
}

std::string orderSentence(FoldOrder order, DataType type, ReduceOp op) {
  switch (order) {
    case FoldOrder::kRankOrder:
      return fmt::format("ranks 0, 1, 2, ... in {}, stored as {} once", accumulatorText(type, op),
                         dataTypeName(type));
    case FoldOrder::kHopRounded:
      return fmt::format("along the path of the data, stored as {} at each hop",
                         dataTypeName(type));
    default:
      return "nothing is added; bits arrive as they were";
  }
}

std::string registryText() {
  TextTable table({"operation", "algorithm", "adds in", "slots", "channels", "how it works"});
  for (std::size_t row = 0; row < kAllAlgorithmCount; ++row) {
    const AlgorithmInfo& info = algorithmInfo(algorithmAt(row));
    table.add({std::string(collectiveName(info.collective)), std::string(info.name),
               std::string(orderName(info.order)), fmt::format("{}", info.minSlots),
               fmt::format("{}", info.naturalChannels), std::string(info.summary)});
  }
  return table.text();
}

}  // namespace rondo::cli
