// Status and Result: what they hold, and that success is free.
#include "src/status.h"

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

namespace rondo {
namespace {

TEST(Status, SuccessIsOneNullPointer) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::kOk);
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(sizeof(status), sizeof(void*));
  EXPECT_TRUE(std::is_nothrow_move_constructible_v<Status>);
}

TEST(Status, HoldsCodeAndFormattedMessage) {
  const Status status = Status::peerLost("rank {} closed the connection to {}", 3, "host-a");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::kPeerLost);
  EXPECT_EQ(status.message(), "rank 3 closed the connection to host-a");
}

TEST(Status, CopiesAreIndependent) {
  Status original = Status::timeout("first");
  Status copy = original;
  original = Status::aborted("second");
  EXPECT_EQ(copy.message(), "first");
  EXPECT_EQ(copy.code(), StatusCode::kTimeout);
  copy = Status{};
  EXPECT_TRUE(copy.ok());
  EXPECT_EQ(original.message(), "second");
}

TEST(Status, ContextComesFirst) {
  EXPECT_EQ(Status::internal("cause").withContext("rank 1").message(), "rank 1: cause");
  EXPECT_TRUE(Status{}.withContext("rank 1").ok());
}

TEST(Status, CodesOfTheCallLoseNothingElse) {
  EXPECT_TRUE(losesOnlyTheCall(StatusCode::kInvalidArgument));
  EXPECT_TRUE(losesOnlyTheCall(StatusCode::kNotSupported));
  EXPECT_FALSE(losesOnlyTheCall(StatusCode::kOk));
  EXPECT_FALSE(losesOnlyTheCall(StatusCode::kPeerLost));
  EXPECT_FALSE(losesOnlyTheCall(StatusCode::kMismatch));
}

Result<int> half(int value) {
  if (value % 2 != 0) return Status::invalidArgument("{} is odd", value);
  return value / 2;
}

Status quarter(int value, int& result) {
  const Result<int> once = half(value);
  RONDO_RETURN_IF_ERROR(once.status());
  RONDO_RETURN_IF_ERROR(half(*once));
  result = *half(*once);
  return {};
}

TEST(Result, HoldsAValueOrAFailure) {
  EXPECT_TRUE(half(4).ok());
  EXPECT_TRUE(half(4).status().ok());
  EXPECT_EQ(*half(4), 2);
  EXPECT_FALSE(half(3).ok());
  EXPECT_EQ(half(3).status().message(), "3 is odd");
}

TEST(Result, ReturnIfErrorPassesFailuresUp) {
  int result = 0;
  EXPECT_TRUE(quarter(8, result).ok());
  EXPECT_EQ(result, 2);
  EXPECT_EQ(quarter(6, result).message(), "3 is odd");
  EXPECT_EQ(quarter(5, result).message(), "5 is odd");
  EXPECT_EQ(result, 2);
}

TEST(Result, CarriesWhatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 7);
}

TEST(ResultDeathTest, ReadingAFailureAsAValueEndsTheProcess) {
  EXPECT_DEATH((void)*half(3), "internal fault");
}

}  // namespace
}  // namespace rondo
