// Gradients that buckets compress: the bits of each tensor compressed on its own, whatever the
// buckets; what is rounded away comes later; state that is saved goes on as it would have.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/train/gradient_buckets.h"
#include "src/train/bucket_plan.h"
#include "src/train/rank_state.h"
#include "tests/train/rank_threads.h"

namespace rondo::train {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::runRanks;

const std::vector<std::size_t> kCounts{1000, 7, 0, 20000, 1, 513, 300, 64};

BucketOptions int8Options() {
  BucketOptions options;
  options.stallAfter = std::chrono::milliseconds{0};
  options.compression = GradientCompression{};
  return options;
}

std::vector<GradientSpec> specs() {
  std::vector<GradientSpec> tensors;
  for (const std::size_t count : kCounts)
    tensors.push_back({"t" + std::to_string(tensors.size()), rondoFloat32, count});
  return tensors;
}

/// What a rank's gradient is: pseudo-random, of different magnitudes.
float value(int pass, int rank, std::size_t tensor, std::size_t element) {
  auto seed = static_cast<std::uint32_t>(pass * 1000003 + rank * 7919) +
              static_cast<std::uint32_t>(tensor * 100000 + element);
  seed = (seed ^ 61U ^ (seed >> 16U)) * 0x27d4eb2dU;
  seed = (seed ^ (seed >> 15U)) * 0x85ebca6bU;
  return std::ldexp(std::bit_cast<float>(0x3f800000U | (seed >> 9U)) - 1.5F,
                    static_cast<int>(seed % 7));
}

void makePass(GradientBuckets& buckets, int pass, int rank) {
  for (std::size_t tensor = kCounts.size(); tensor-- > 0;) {
    std::size_t element = 0;
    for (float& gradient : buckets.view<float>(tensor))
      gradient = value(pass, rank, tensor, element++);
    buckets.markReady(tensor);
  }
  buckets.finish();
}

std::vector<float> allOf(const GradientBuckets& buckets) {
  std::vector<float> all;
  for (std::size_t tensor = 0; tensor < kCounts.size(); ++tensor)
    std::ranges::copy(buckets.view<float>(tensor), std::back_inserter(all));
  return all;
}

/// All gradients after each of four passes.
std::vector<std::vector<float>> train(const Communicator& comm, const BucketOptions& options) {
  GradientBuckets buckets(comm, specs(), options);
  std::vector<std::vector<float>> passes;
  for (int pass = 0; pass < 4; ++pass) {
    makePass(buckets, pass, comm.rank());
    passes.push_back(allOf(buckets));
  }
  return passes;
}

/// The same by a call for each tensor.
std::vector<std::vector<float>> trainOneByOne(const Communicator& comm) {
  std::vector<ErrorFeedback> feedbacks(kCounts.size());
  std::vector<std::vector<float>> passes(4);
  for (int pass = 0; pass < 4; ++pass) {
    for (std::size_t tensor = 0; tensor < kCounts.size(); ++tensor) {
      std::vector<float> gradient;
      for (std::size_t element = 0; element < kCounts[tensor]; ++element)
        gradient.push_back(value(pass, comm.rank(), tensor, element));
      rondoCompression_t how = RONDO_COMPRESSION_INITIALIZER;
      how.feedback = feedbacks[tensor].handle();
      comm.allReduceCompressed(gradient, gradient, how, rondoAvg);
      // Buckets that are made again forget what they have rounded away.
      if (pass == 0) feedbacks[tensor].reset();
      std::ranges::copy(gradient, std::back_inserter(passes[static_cast<std::size_t>(pass)]));
    }
  }
  return passes;
}

TEST(CompressedBuckets, HaveTheBitsOfTensorsOnTheirOwnWhateverTheirSizesAndOverlap) {
  runRanks(3, [](const Communicator& comm) {
    const auto wanted = trainOneByOne(comm);
    for (const std::size_t cap : {std::size_t{0}, std::size_t{4096}, std::size_t{1} << 30U}) {
      for (const bool overlap : {true, false}) {
        BucketOptions options = int8Options();
        options.capBytes = cap;
        options.firstCapBytes = cap / 2;
        options.overlap = overlap;
        EXPECT_TRUE(train(comm, options) == wanted) << "cap " << cap << " overlap " << overlap;
      }
    }
  });
}

TEST(CompressedBuckets, SendAQuarterAndCountIt) {
  runRanks(4, [](const Communicator& comm) {
    GradientBuckets buckets(comm, {{"a", rondoFloat32, 1U << 16U}}, int8Options());
    buckets.markReady(0);
    buckets.finish();
    const BucketTimes times = buckets.times();
    EXPECT_GT(times.codedBytes, 0U);
    EXPECT_LE(static_cast<double>(times.codedBytes),
              0.27 * static_cast<double>(times.uncodedBytes));
  });
}

/// The error of the mean of `passes` results for a gradient that is always the same.
double errorOfMean(const Communicator& comm, bool feedback, int passes) {
  BucketOptions options = int8Options();
  options.compression->errorFeedback = feedback;
  GradientBuckets buckets(comm, {{"a", rondoFloat32, 2}}, options);
  double sum = 0;
  for (int pass = 0; pass < passes; ++pass) {
    // The first element makes the scale 1; the second is lost in it.
    buckets.view<float>(0)[0] = 127;
    buckets.view<float>(0)[1] = 0.3F;
    buckets.markReady(0);
    buckets.finish();
    sum += static_cast<double>(buckets.view<float>(0)[1]);
  }
  return std::abs(sum / passes - 0.3);
}

TEST(CompressedBuckets, LoseNothingWithErrorFeedback) {
  runRanks(2, [](const Communicator& comm) {
    EXPECT_LT(errorOfMean(comm, true, 400), 0.01);
    EXPECT_GT(errorOfMean(comm, false, 400), 0.29);
  });
}

TEST(CompressedBuckets, LeaveWhatIsNotToBeCompressedAsItIs) {
  BucketOptions options = int8Options();
  const std::vector<GradientSpec> tensors{{"a", rondoFloat32, 3},
                                          {"b", rondoFloat32, 3, nullptr, 1, false},
                                          {"c", rondoInt32, 3},
                                          {"d", rondoFloat32, 3}};
  const auto plan = planBuckets(tensors, std::vector<std::size_t>{0, 1, 2, 3}, options);
  ASSERT_EQ(plan.size(), 3U);
  EXPECT_EQ(std::ranges::count(plan, true, &BucketLayout::compressed), 1);
  runRanks(2, [&](const Communicator& comm) {
    GradientBuckets buckets(comm, tensors, options);
    for (const std::size_t tensor : {0, 1, 3}) {
      buckets.view<float>(tensor)[0] = 127;
      buckets.view<float>(tensor)[1] = 0.25F;
    }
    for (std::int32_t& element : buckets.view<std::int32_t>(2))
      element = 100000 + comm.rank() * 2;
    for (std::size_t tensor = 0; tensor < tensors.size(); ++tensor)
      buckets.markReady(tensor);
    buckets.finish();
    EXPECT_THAT(buckets.view<float>(0), ElementsAre(127.0F, 0.0F, 0.0F));
    EXPECT_THAT(buckets.view<float>(1), ElementsAre(127.0F, 0.25F, 0.0F));
    EXPECT_THAT(buckets.view<std::int32_t>(2), Each(100001));
  });
}

TEST(CompressedBuckets, ShowOnAllRanksWhatIsNotFiniteAndRecover) {
  runRanks(3, [](const Communicator& comm) {
    GradientBuckets buckets(comm, {{"a", rondoFloat32, 300}}, int8Options());
    for (const float bad : {std::numeric_limits<float>::infinity(), 1.0F}) {
      std::ranges::fill(buckets.view<float>(0), 1.0F);
      if (comm.rank() == 1) buckets.view<float>(0)[7] = bad;
      buckets.markReady(0);
      buckets.finish();
      EXPECT_EQ(std::isfinite(buckets.view<float>(0)[7]), bad == 1.0F);
    }
    EXPECT_THAT(buckets.view<float>(0), Each(1.0F));
  });
}

TEST(CompressedBuckets, MustBeTheSameOnAllRanks) {
  runRanks(2, [](const Communicator& comm) {
    BucketOptions options = int8Options();
    if (comm.rank() == 1) options.compression->codec = rondoCodecFloat16;
    try {
      const GradientBuckets buckets(comm, specs(), options);
      ADD_FAILURE() << "codecs that differ were taken";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("compressed by codec"));
    }
  });
}

TEST(CompressedBuckets, GoOnFromTheirStateAsIfNothingHadBeen) {
  runRanks(2, [](const Communicator& comm) {
    BucketOptions options = int8Options();
    options.capBytes = options.firstCapBytes = 4096;
    GradientBuckets whole(comm, specs(), options);
    for (int pass = 0; pass < 3; ++pass)
      makePass(whole, pass, comm.rank());
    const std::vector<std::byte> state = whole.saveState();
    makePass(whole, 3, comm.rank());
    const std::vector<float> wanted = allOf(whole);

    GradientBuckets resumed(comm, specs(), options);
    EXPECT_TRUE(resumed.restoreState(state));
    makePass(resumed, 3, comm.rank());
    EXPECT_TRUE(allOf(resumed) == wanted);

    GradientBuckets without(comm, specs(), options);
    // One rank has none: so none of them takes its own.
    EXPECT_FALSE(
        without.restoreState(comm.rank() == 0 ? std::span(state) : std::span<const std::byte>()));
    makePass(without, 3, comm.rank());
    EXPECT_FALSE(allOf(without) == wanted);

    options.capBytes = 8192;
    GradientBuckets others(comm, specs(), options);
    EXPECT_FALSE(others.restoreState(state));
  });
}

TEST(CompressedBuckets, RefuseStateThatWasChanged) {
  runRanks(2, [](const Communicator& comm) {
    GradientBuckets buckets(comm, specs(), int8Options());
    makePass(buckets, 0, comm.rank());
    makePass(buckets, 1, comm.rank());
    std::vector<std::byte> state = buckets.saveState();
    if (comm.rank() == 1) state.back() ^= std::byte{1};
    EXPECT_THROW(static_cast<void>(buckets.restoreState(state)), Error);
  });
}

TEST(RankState, IsWhatWasWrittenOrNothing) {
  const RankState state{7, true, {2, 0, 1}, {{std::byte{1}, std::byte{2}}, {}, {std::byte{3}}}};
  const std::vector<std::byte> bytes = state.bytes();
  const std::optional<RankState> read = RankState::parse(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->fingerprint, 7U);
  EXPECT_TRUE(read->rebuilt);
  EXPECT_THAT(read->order, ElementsAre(2, 0, 1));
  EXPECT_EQ(read->feedbacks, state.feedbacks);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(RankState::parse(std::span(bytes).first(size)).has_value()) << size;
}

}  // namespace
}  // namespace rondo::train
