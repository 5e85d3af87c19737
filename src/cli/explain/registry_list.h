// The registry of algorithms, for people and for docs.
#pragma once

#include <string>

#include "collectives/schedule.h"
#include "kernels/data_type.h"

namespace rondo::cli {

/// One line per algorithm.
std::string registryText();

/// "rank order", ...
std::string_view orderName(FoldOrder order);

/// In which order and precision elements are added, in a sentence.
std::string orderSentence(FoldOrder order, DataType type, ReduceOp op);

}  // namespace rondo::cli
