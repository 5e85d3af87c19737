// Element types and reductions, as the kernels see them. The two X-lists below are the only place
// where they are enumerated; the C API's enums are checked against them in src/api.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/portability.h"

/// Every element type: X(enumerator, C++ element type of kernels/element.h, bytes, short name).
/// The order is the order of rondoDataType_t.
#define RONDO_FOR_EACH_DATA_TYPE(X)        \
  X(Int8, std::int8_t, 1, "int8")          \
  X(Uint8, std::uint8_t, 1, "uint8")       \
  X(Int16, std::int16_t, 2, "int16")       \
  X(Uint16, std::uint16_t, 2, "uint16")    \
  X(Int32, std::int32_t, 4, "int32")       \
  X(Uint32, std::uint32_t, 4, "uint32")    \
  X(Int64, std::int64_t, 8, "int64")       \
  X(Uint64, std::uint64_t, 8, "uint64")    \
  X(Float16, Float16, 2, "half")           \
  X(Bfloat16, Bfloat16, 2, "bfloat16")     \
  X(Float32, float, 4, "float")            \
  X(Float64, double, 8, "double")          \
  X(Float8E4m3, Float8E4m3, 1, "fp8_e4m3") \
  X(Float8E5m2, Float8E5m2, 1, "fp8_e5m2") \
  X(Bool, Bool, 1, "bool")

/// Every reduction: X(enumerator, short name). The order is the order of rondoRedOp_t.
#define RONDO_FOR_EACH_REDUCE_OP(X) \
  X(Sum, "sum")                     \
  X(Prod, "prod")                   \
  X(Min, "min")                     \
  X(Max, "max")                     \
  X(Avg, "avg")                     \
  X(PreMulSum, "premulsum")

namespace rondo {

enum class DataType : std::uint8_t {
#define RONDO_ENUMERATOR(name, type, bytes, text) k##name,
  RONDO_FOR_EACH_DATA_TYPE(RONDO_ENUMERATOR)
#undef RONDO_ENUMERATOR
};

enum class ReduceOp : std::uint8_t {
#define RONDO_ENUMERATOR(name, text) k##name,
  RONDO_FOR_EACH_REDUCE_OP(RONDO_ENUMERATOR)
#undef RONDO_ENUMERATOR
};

inline constexpr int kDataTypeCount = 15;
inline constexpr int kReduceOpCount = 6;

/// Bytes of one element of `type`; also the alignment that a buffer of that type must have.
RONDO_HD constexpr std::size_t elementBytes(DataType type) {
  switch (type) {
#define RONDO_CASE(name, cppType, bytes, text) \
  case DataType::k##name:                      \
    return bytes;
    RONDO_FOR_EACH_DATA_TYPE(RONDO_CASE)
#undef RONDO_CASE
  }
  return 0;
}

/// The name that commands and messages use, e.g. "bfloat16".
constexpr std::string_view dataTypeName(DataType type) {
  switch (type) {
#define RONDO_CASE(name, cppType, bytes, text) \
  case DataType::k##name:                      \
    return text;
    RONDO_FOR_EACH_DATA_TYPE(RONDO_CASE)
#undef RONDO_CASE
  }
  return "unknown";
}

/// The name that commands and messages use, e.g. "sum".
constexpr std::string_view reduceOpName(ReduceOp op) {
  switch (op) {
#define RONDO_CASE(name, text) \
  case ReduceOp::k##name:      \
    return text;
    RONDO_FOR_EACH_REDUCE_OP(RONDO_CASE)
#undef RONDO_CASE
  }
  return "unknown";
}

/// True for the float types whose sums, products and averages are carried in fp32 (8 and 16 bits).
constexpr bool isNarrowFloat(DataType type) {
  return type == DataType::kFloat16 || type == DataType::kBfloat16 ||
         type == DataType::kFloat8E4m3 || type == DataType::kFloat8E5m2;
}

constexpr bool isFloat(DataType type) {
  return isNarrowFloat(type) || type == DataType::kFloat32 || type == DataType::kFloat64;
}

constexpr bool isFp8(DataType type) {
  return type == DataType::kFloat8E4m3 || type == DataType::kFloat8E5m2;
}

/// Bytes of one element of the accumulator that sums of (type, op) are carried in: 4 for narrow
/// floats under sum, prod, avg and premulsum; 8 for integers under avg; else the element's own
/// size. docs/numerics.md is the contract behind it.
RONDO_HD constexpr std::size_t accumulatorBytes(DataType type, ReduceOp op) {
  if (op == ReduceOp::kMin || op == ReduceOp::kMax || type == DataType::kBool) {
    return elementBytes(type);
  }
  switch (type) {
    case DataType::kFloat16:
    case DataType::kBfloat16:
    case DataType::kFloat8E4m3:
    case DataType::kFloat8E5m2:
      return sizeof(float);
    case DataType::kFloat32:
    case DataType::kFloat64:
      return elementBytes(type);
    default:
      return op == ReduceOp::kAvg ? sizeof(std::int64_t) : elementBytes(type);
  }
}

/// Bytes of premulsum's factor for elements of `type`: it is in the accumulator's type.
constexpr std::size_t scaleBytes(DataType type) {
  return accumulatorBytes(type, ReduceOp::kPreMulSum);
}

/// False for the one pair that has no meaning: the average of truth values.
RONDO_HD constexpr bool isReducible(DataType type, ReduceOp op) {
  return !(type == DataType::kBool && (op == ReduceOp::kAvg || op == ReduceOp::kPreMulSum));
}

}  // namespace rondo
