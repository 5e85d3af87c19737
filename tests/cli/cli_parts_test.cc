// Sizes, names, sweeps and bandwidths of the command.

#include <vector>

#include <gtest/gtest.h>

#include "src/cli/names.h"
#include "src/cli/perf/bandwidth.h"
#include "src/cli/perf/options.h"
#include "src/cli/text_table.h"
#include "src/size_text.h"

namespace rondo {
namespace {

std::size_t sizeOf(std::string_view text) {
  const Result<std::size_t> size = parseSize(text);
  return size.ok() ? *size : ~std::size_t{0};
}

TEST(SizeText, ReadsPowersOf1024) {
  EXPECT_EQ(sizeOf("0"), 0U);
  EXPECT_EQ(sizeOf("8"), 8U);
  EXPECT_EQ(sizeOf("64K"), 65536U);
  EXPECT_EQ(sizeOf("3m"), 3U << 20U);
  EXPECT_EQ(sizeOf("2G"), std::size_t{2} << 30U);
}

TEST(SizeText, RefusesWhatIsNoSize) {
  for (const std::string_view text : {"", "K", "-1", "1.5M", "1MB", "1 M", "9999999999G"}) {
    EXPECT_FALSE(parseSize(text).ok()) << text;
  }
}

TEST(SizeText, WritesSizes) {
  EXPECT_EQ(formatSize(100), "100 bytes");
  EXPECT_EQ(formatSize(1536), "1.5 KiB");
  EXPECT_EQ(formatSize(std::size_t{4} << 30U), "4 GiB");
}

TEST(Names, AreThoseOfRondoAndOfNcclTests) {
  EXPECT_EQ(*cli::findCollective("reduce_scatter_perf"), Collective::kReduceScatter);
  EXPECT_EQ(*cli::findDataType("bf16"), DataType::kBfloat16);
  EXPECT_EQ(*cli::findDataType("f8e4m3"), DataType::kFloat8E4m3);
  EXPECT_EQ(*cli::findReduceOp("mulsum"), ReduceOp::kPreMulSum);
  for (const DataType type : cli::allDataTypes()) {
    EXPECT_EQ(*cli::findDataType(dataTypeName(type)), type);
  }
}

TEST(Names, AWrongOneIsToldTheRightOnes) {
  const Status status = cli::findCollective("allreduce").status();
  EXPECT_NE(status.message().find("all_reduce, reduce_scatter"), std::string_view::npos);
}

TEST(Sweep, MultipliesOrAdds) {
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(perf::sweepSizes(8, 100, 0, 2), (Sizes{8, 16, 32, 64}));
  EXPECT_EQ(perf::sweepSizes(8, 100, 40, 2), (Sizes{8, 48, 88}));
  EXPECT_EQ(perf::sweepSizes(0, 4, 0, 2), (Sizes{0, 1, 2, 4}));
  EXPECT_EQ(perf::sweepSizes(64, 64, 0, 2), (Sizes{64}));
  EXPECT_EQ(perf::sweepSizes(1, 1, 5, 2), (Sizes{1}));
}

TEST(Options, DefaultsAreUnderstood) {
  perf::PerfFlags flags;
  flags.operations = {"all_reduce"};
  const Result<perf::PerfOptions> options = perf::understand(flags);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->sizes.front(), 8U);
  EXPECT_EQ(options->sizes.back(), 32U << 20U);
  EXPECT_EQ(options->buffers, perf::BufferKind::kMalloc);
}

TEST(Options, ContradictionsAreRefused) {
  const auto refused = [](auto&& change) {
    perf::PerfFlags flags;
    flags.operations = {"broadcast"};
    change(flags);
    return !perf::understand(flags).ok();
  };
  EXPECT_TRUE(refused([](auto& flags) { flags.root = "2"; }));
  EXPECT_TRUE(refused([](auto& flags) { flags.minBytes = "2M", flags.maxBytes = "1M"; }));
  EXPECT_TRUE(refused([](auto& flags) { flags.stepFactor = 1; }));
  EXPECT_TRUE(refused([](auto& flags) { flags.stepFactor = 2, flags.stepBytes = "1K"; }));
  EXPECT_TRUE(refused([](auto& flags) { flags.unalign = "2"; }));
  EXPECT_TRUE(refused([](auto& flags) { flags.buffers = "pinned"; }));
  EXPECT_TRUE(refused([](auto& flags) { flags.algorithm = "one_shot"; }));
  EXPECT_TRUE(refused([](auto& flags) { flags.threads = -1; }));
  EXPECT_TRUE(refused([](auto& flags) { flags.threads = flags.processes = 2; }));
}

TEST(Bandwidth, BusFactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(perf::busFactor(Collective::kAllReduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(perf::busFactor(Collective::kReduceScatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(perf::busFactor(Collective::kAllGather, 2), 0.5);
  EXPECT_DOUBLE_EQ(perf::busFactor(Collective::kBroadcast, 8), 1);
  EXPECT_DOUBLE_EQ(perf::busFactor(Collective::kReduce, 8), 1);
  EXPECT_DOUBLE_EQ(perf::busFactor(Collective::kAllReduce, 1), 0);
}

TEST(Bandwidth, IsBytesOverTime) {
  const perf::Bandwidth bandwidth = perf::bandwidthOf(Collective::kAllReduce, 4, 3'000'000, 0.001);
  EXPECT_DOUBLE_EQ(bandwidth.algorithmGBs, 3);
  EXPECT_DOUBLE_EQ(bandwidth.busGBs, 4.5);
  EXPECT_EQ(perf::bandwidthOf(Collective::kAllReduce, 4, 8, 0).busGBs, 0);
}

TEST(Bandwidth, SizeCountsAllBlocks) {
  EXPECT_EQ(perf::countForBytes(Collective::kAllReduce, DataType::kFloat32, 3, 100), 25U);
  EXPECT_EQ(perf::countForBytes(Collective::kAllGather, DataType::kFloat32, 3, 100), 8U);
  EXPECT_EQ(perf::bytesOfCount(Collective::kAllGather, DataType::kFloat32, 3, 8), 96U);
}

TEST(TextTable, LeavesOutTheMiddle) {
  cli::TextTable table({"n"});
  for (int line = 0; line < 10; ++line)
    table.add({fmt::format("{}", line)});
  EXPECT_EQ(table.text(3), "  n\n  0\n  1\n  ... 7 more (--all shows them)\n  9\n");
}

}  // namespace
}  // namespace rondo
