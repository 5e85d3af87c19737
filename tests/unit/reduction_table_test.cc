// Premulsum handles: the factor's accumulator form for every type, and misuse.
#include "src/reduction_table.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/element.h"
#include "rondo/rondo.h"

namespace rondo {
namespace {

/// The factor that the table keeps for `scalar`, read as a Scale.
template <class Scale, class Element>
Scale storedScale(DataType type, Element scalar) {
  ReductionTable table;
  const Result<int> handle = table.createPreMulSum(type, &scalar);
  EXPECT_TRUE(handle.ok());
  const MadeReduction& sum = **table.find(*handle);
  EXPECT_EQ(sum.type, type);
  Scale scale;
  std::memcpy(&scale, sum.factor.data(), sizeof(scale));
  return scale;
}

TEST(ReductionTable, KeepsTheFactorInTheAccumulatorsType) {
  EXPECT_EQ(storedScale<std::int8_t>(DataType::kInt8, std::int8_t{-3}), -3);
  EXPECT_EQ(storedScale<std::uint16_t>(DataType::kUint16, std::uint16_t{65535}), 65535);
  EXPECT_EQ(storedScale<std::int64_t>(DataType::kInt64, INT64_MIN), INT64_MIN);
  EXPECT_EQ(storedScale<float>(DataType::kFloat32, 0.1f), 0.1f);
  EXPECT_EQ(storedScale<double>(DataType::kFloat64, 0.1), 0.1);
  EXPECT_EQ(storedScale<float>(DataType::kFloat16, Float16::fromFloat(0.5f)), 0.5f);
  EXPECT_EQ(storedScale<float>(DataType::kBfloat16, Bfloat16::fromFloat(-2.0f)), -2.0f);
  EXPECT_EQ(storedScale<float>(DataType::kFloat8E4m3, Float8E4m3::fromFloat(448.0f)), 448.0f);
  EXPECT_EQ(storedScale<float>(DataType::kFloat8E5m2, Float8E5m2::fromFloat(0.25f)), 0.25f);
}

TEST(ReductionTable, ScalarsNeedNoAlignment) {
  alignas(8) char bytes[16] = {};
  const double factor = 1.5;
  std::memcpy(bytes + 1, &factor, sizeof(factor));
  ReductionTable table;
  EXPECT_TRUE(table.createPreMulSum(DataType::kFloat64, bytes + 1).ok());
}

TEST(ReductionTable, HandlesAreDynamicReductions) {
  ReductionTable table;
  const float factor = 1.0f;
  for (int count = 0; count < 1000; ++count) {
    const Result<int> handle = table.createPreMulSum(DataType::kFloat32, &factor);
    ASSERT_TRUE(handle.ok());
    EXPECT_GE(*handle, rondoRedOpFirstDynamic);
    ASSERT_TRUE(table.destroy(*handle).ok());
  }
}

TEST(ReductionTable, BoolHasNoPremulsum) {
  ReductionTable table;
  const bool factor = true;
  EXPECT_EQ(table.createPreMulSum(DataType::kBool, &factor).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(ReductionTable, MisuseIsTold) {
  ReductionTable table;
  ReductionTable other;
  const float factor = 2.0f;
  const int handle = *table.createPreMulSum(DataType::kFloat32, &factor);
  EXPECT_EQ(other.find(handle).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(table.destroy(rondoSum).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(table.destroy(-1).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(table.destroy(handle).ok());
  EXPECT_EQ(table.destroy(handle).code(), StatusCode::kInvalidUsage);
  EXPECT_EQ(table.find(handle).status().code(), StatusCode::kInvalidUsage);
}

TEST(ReductionTable, AFullTableSaysSo) {
  ReductionTable table;
  const float factor = 2.0f;
  std::vector<int> handles;
  Result<int> handle = table.createPreMulSum(DataType::kFloat32, &factor);
  for (; handle.ok(); handle = table.createPreMulSum(DataType::kFloat32, &factor)) {
    handles.push_back(*handle);
  }
  EXPECT_EQ(handles.size(), 256u);
  EXPECT_EQ(handle.status().code(), StatusCode::kOutOfMemory);
  EXPECT_TRUE(table.destroy(handles.front()).ok());
  EXPECT_TRUE(table.createPreMulSum(DataType::kFloat32, &factor).ok());
}

}  // namespace
}  // namespace rondo
