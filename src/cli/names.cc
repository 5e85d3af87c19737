#include "src/cli/names.h"

#include <utility>

namespace rondo::cli {

namespace {

constexpr std::pair<std::string_view, DataType> kOtherTypeNames[] = {
    {"float16", DataType::kFloat16},
    {"fp16", DataType::kFloat16},
    {"f16", DataType::kFloat16},
    {"bf16", DataType::kBfloat16},
    {"float32", DataType::kFloat32},
    {"fp32", DataType::kFloat32},
    {"f32", DataType::kFloat32},
    {"float64", DataType::kFloat64},
    {"fp64", DataType::kFloat64},
    {"f64", DataType::kFloat64},
    {"f8e4m3", DataType::kFloat8E4m3},
    {"f8e5m2", DataType::kFloat8E5m2},
    {"float8_e4m3", DataType::kFloat8E4m3},
    {"float8_e5m2", DataType::kFloat8E5m2},
    {"int", DataType::kInt32},
};

template <class Value>
std::vector<Value> firstValues(int count) {
  std::vector<Value> values;
  for (int value = 0; value < count; ++value)
    values.push_back(static_cast<Value>(value));
  return values;
}

template <class Value>
std::string namesOf(const std::vector<Value>& values, std::string_view (*nameOf)(Value)) {
  std::vector<std::string_view> names;
  for (const Value value : values)
    names.push_back(nameOf(value));
  return joined(names);
}

std::string_view nameOfAlgorithm(AlgorithmId id) {
  return algorithmInfo(id).name;
}

}  // namespace

std::string joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

std::string namesOfCollectives() {
  return namesOf(allCollectives(), collectiveName);
}

std::vector<Collective> allCollectives() {
  return firstValues<Collective>(kCollectiveCount);
}

std::vector<DataType> allDataTypes() {
  return firstValues<DataType>(kDataTypeCount);
}

std::vector<ReduceOp> allReduceOps() {
  return firstValues<ReduceOp>(kReduceOpCount);
}

std::vector<AlgorithmId> algorithmsOf(Collective collective) {
  std::vector<AlgorithmId> found;
  for (std::size_t row = 0; row < kAllAlgorithmCount; ++row) {
    const AlgorithmId id = algorithmAt(row);
    if (algorithmInfo(id).collective == collective) found.push_back(id);
  }
  return found;
}

Result<Collective> findCollective(std::string_view name) {
  constexpr std::string_view kProgramSuffix = "_perf";
  std::string_view stem = name;
  if (stem.ends_with(kProgramSuffix)) stem.remove_suffix(kProgramSuffix.size());
  for (const Collective collective : allCollectives()) {
    if (collectiveName(collective) == stem) return collective;
  }
  return Status::invalidArgument("\"{}\" is no operation; there are {}", name,
                                 namesOfCollectives());
}

Result<DataType> findDataType(std::string_view name) {
  for (const DataType type : allDataTypes()) {
    if (dataTypeName(type) == name) return type;
  }
  for (const auto& [other, type] : kOtherTypeNames) {
    if (other == name) return type;
  }
  return Status::invalidArgument("\"{}\" is no data type; there are {}", name,
                                 namesOf(allDataTypes(), dataTypeName));
}

Result<ReduceOp> findReduceOp(std::string_view name) {
  if (name == "mulsum") return ReduceOp::kPreMulSum;
  for (const ReduceOp op : allReduceOps()) {
    if (reduceOpName(op) == name) return op;
  }
  return Status::invalidArgument("\"{}\" is no reduction; there are {}", name,
                                 namesOf(allReduceOps(), reduceOpName));
}

Result<AlgorithmId> findAlgorithmNamed(Collective collective, std::string_view name) {
  if (const std::optional<AlgorithmId> id = findAlgorithm(collective, name)) return *id;
  return Status::invalidArgument("\"{}\" is no algorithm of {}; there are {}", name,
                                 collectiveName(collective),
                                 namesOf(algorithmsOf(collective), nameOfAlgorithm));
}

}  // namespace rondo::cli
