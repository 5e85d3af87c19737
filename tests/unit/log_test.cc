// The log: levels, what a line holds, and files.
#include "src/log.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace rondo {
namespace {

std::string contentOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A log file of its own for each test; stderr afterwards.
class LogTest : public testing::Test {
 protected:
  ~LogTest() override {
    EXPECT_TRUE(configureLog({}).ok());
    std::filesystem::remove(path_);
  }

  const std::string path_ =
      testing::TempDir() + "rondo_log_test." + std::to_string(::getpid()) + ".log";
};

TEST_F(LogTest, LinesCarryLevelSubsystemAndRank) {
  ASSERT_TRUE(configureLog({LogLevel::kInfo, path_}).ok());
  RONDO_LOG(kInfo, kPlanner, LogContext{.rank = 3, .communicator = "world"}, "bytes {}", 4096);
  RONDO_LOG(kWarn, kConfig, "plain");
  RONDO_LOG(kDebug, kConfig, "not said");
  const std::string content = contentOf(path_);
  EXPECT_NE(content.find(" rondo info planner world rank 3 bytes 4096\n"), std::string::npos);
  EXPECT_NE(content.find(" rondo warn config plain\n"), std::string::npos);
  EXPECT_NE(content.find(' ' + std::to_string(::getpid()) + ' '), std::string::npos);
  EXPECT_EQ(content.find("not said"), std::string::npos);
}

TEST_F(LogTest, ArgumentsOfSilentMessagesAreNotEvaluated) {
  ASSERT_TRUE(configureLog({LogLevel::kWarn, path_}).ok());
  int evaluated = 0;
  RONDO_LOG(kInfo, kApi, "value {}", ++evaluated);
  EXPECT_EQ(evaluated, 0);
  RONDO_LOG(kError, kApi, "value {}", ++evaluated);
  EXPECT_EQ(evaluated, 1);
}

TEST_F(LogTest, AnUnwritableFileIsAnErrorAndChangesNothing) {
  ASSERT_TRUE(configureLog({LogLevel::kWarn, path_}).ok());
  const Status status = configureLog({LogLevel::kError, "/proc/rondo/none.log"});
  EXPECT_EQ(status.code(), StatusCode::kSystemError);
  EXPECT_NE(status.message().find("/proc/rondo/none.log"), std::string_view::npos);
  RONDO_LOG(kWarn, kApi, "still here");
  EXPECT_NE(contentOf(path_).find("still here"), std::string::npos);
}

TEST(Log, FilePatterns) {
  EXPECT_EQ(*expandLogFile("/tmp/%h.%p.%%.log", "node1", 42), "/tmp/node1.42.%.log");
  EXPECT_EQ(*expandLogFile("", "node1", 42), "");
  EXPECT_EQ(expandLogFile("a%x", "node1", 42).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(expandLogFile("a%", "node1", 42).status().code(), StatusCode::kInvalidArgument);
}

TEST(Log, LevelsHaveNames) {
  EXPECT_EQ(findLogLevel("debug"), LogLevel::kDebug);
  EXPECT_EQ(logLevelName(LogLevel::kTrace), "trace");
  EXPECT_FALSE(findLogLevel("INFO").has_value());
}

TEST(Log, OnceMeansOnce) {
  EXPECT_TRUE(firstLogOf("a key of this test"));
  EXPECT_FALSE(firstLogOf("a key of this test"));
}

}  // namespace
}  // namespace rondo
