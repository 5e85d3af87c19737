// Gradients in buckets: means, whatever the buckets; every misuse named on all ranks.
#include "rondo/train/gradient_buckets.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/train/bucket_plan.h"
#include "src/train/stall_watch.h"
#include "tests/train/rank_threads.h"

namespace rondo::train {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::runRanks;

using Indices = std::vector<std::size_t>;

/// Without reports, which tests of other things would only slow down.
BucketOptions quiet() {
  BucketOptions options;
  options.stallAfter = std::chrono::milliseconds{0};
  return options;
}

/// Runs `call` and gives what it throws as text.
template <class Call>
std::string messageOf(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing thrown";
}

std::vector<Indices> tensorsByBucket(const std::vector<BucketLayout>& buckets) {
  std::vector<Indices> all;
  for (const BucketLayout& bucket : buckets) {
    Indices& tensors = all.emplace_back();
    for (const BucketMember& member : bucket.members)
      tensors.push_back(member.tensor);
  }
  return all;
}

TEST(BucketPlan, FillsUpToTheCapInOrder) {
  const std::vector<GradientSpec> tensors{{"a", rondoFloat32, 4}, {"b", rondoFloat32, 4},
                                          {"c", rondoFloat32, 4}, {"d", rondoFloat32, 9},
                                          {"e", rondoFloat32, 0}, {"f", rondoFloat32, 1}};
  BucketOptions options;
  options.firstCapBytes = 16;
  options.capBytes = 32;
  const auto buckets = planBuckets(tensors, Indices{5, 4, 3, 2, 1, 0}, options);
  // d is larger than a bucket may be; e is empty and goes anywhere.
  EXPECT_THAT(tensorsByBucket(buckets),
              ElementsAre(Indices{5, 4}, Indices{3}, Indices{2, 1}, Indices{0}));
  EXPECT_EQ(buckets[2].elems, 8U);
  EXPECT_EQ(buckets[2].members[1].offsetElems, 4U);
}

TEST(BucketPlan, HasOneTypePerBucketInTheOrderOfCompletion) {
  const std::vector<GradientSpec> tensors{{"a", rondoFloat32, 3},
                                          {"b", rondoFloat16, 5},
                                          {"c", rondoFloat32, 2},
                                          {"d", rondoBfloat16, 4}};
  const auto buckets = planBuckets(tensors, Indices{0, 1, 2, 3}, {});
  EXPECT_THAT(tensorsByBucket(buckets), ElementsAre(Indices{1}, Indices{0, 2}, Indices{3}));
  EXPECT_EQ(buckets[0].type, rondoFloat16);
  EXPECT_EQ(buckets[0].bytes(), 10U);
  EXPECT_THAT(planBuckets({}, {}, {}), IsEmpty());
}

TEST(GradientBuckets, AreMeansInViewsAndInCallersMemory) {
  runRanks(3, [](const Communicator& comm) {
    const auto one = static_cast<float>(comm.rank() + 1);
    std::vector<double> mine(5);
    GradientBuckets buckets(
        comm,
        {{"a", rondoFloat32, 3}, {"b", rondoFloat64, 5, mine.data()}, {"c", rondoFloat32, 0}});
    for (int pass = 0; pass < 3; ++pass) {
      buckets.zero();
      EXPECT_EQ(mine, std::vector<double>(5, 0.0));
      for (float& value : buckets.view<float>(0))
        value += one;
      std::ranges::fill(mine, 10.0 * one + pass);
      for (const std::size_t tensor : {2, 1, 0})
        buckets.markReady(tensor);
      buckets.finish();
      EXPECT_THAT(buckets.view<float>(0), ElementsAre(2.0F, 2.0F, 2.0F));
      EXPECT_EQ(mine, std::vector<double>(5, 20.0 + pass));
    }
    EXPECT_EQ(buckets.times().passes, 3U);
    EXPECT_EQ(buckets.times().bytes, 3 * (3 * 4 + 5 * 8U));
    EXPECT_THROW(static_cast<void>(buckets.view<float>(1)), Error);
  });
}

/// Pseudo-random bits whose sums round.
float noise(std::uint32_t seed) {
  seed = (seed ^ 61U ^ (seed >> 16U)) * 0x27d4eb2dU;
  seed = (seed ^ (seed >> 15U)) * 0x85ebca6bU;
  return std::bit_cast<float>(0x3f800000U | (seed >> 9U)) - 1.5F;
}

/// All gradients after three passes with other values each.
std::vector<float> train(const Communicator& comm, const BucketOptions& options) {
  const std::vector<std::size_t> counts{1000, 7, 0, 70000, 1, 513, 30000, 64};
  std::vector<GradientSpec> tensors;
  for (const std::size_t count : counts)
    tensors.push_back({"t" + std::to_string(tensors.size()), rondoFloat32, count});
  GradientBuckets buckets(comm, tensors, options);
  std::vector<float> all;
  for (std::uint32_t pass = 0; pass < 3; ++pass) {
    for (std::size_t tensor = counts.size(); tensor-- > 0;) {
      std::uint32_t seed = pass * 1000003U + static_cast<std::uint32_t>(comm.rank()) * 7919U;
      for (float& value : buckets.view<float>(tensor))
        value = noise(seed++ + static_cast<std::uint32_t>(tensor) * 100000U);
      buckets.markReady(tensor);
    }
    buckets.finish();
    for (std::size_t tensor = 0; tensor < counts.size(); ++tensor)
      std::ranges::copy(buckets.view<float>(tensor), std::back_inserter(all));
  }
  return all;
}

TEST(GradientBuckets, HaveTheSameBitsWhateverTheirSizesAndOverlap) {
  runRanks(3, [](const Communicator& comm) {
    const std::vector<float> wanted = train(comm, quiet());
    for (const std::size_t cap : {0U, 1U << 10U, 64U << 10U, 1U << 30U}) {
      for (const bool overlap : {true, false}) {
        BucketOptions options = quiet();
        options.capBytes = cap;
        options.firstCapBytes = cap / 2;
        options.overlap = overlap;
        options.rebuild = overlap;
        EXPECT_TRUE(train(comm, options) == wanted) << "cap " << cap << " overlap " << overlap;
      }
    }
  });
}

TEST(GradientBuckets, AreRebuiltInTheOrderOfRankZero) {
  runRanks(2, [](const Communicator& comm) {
    std::vector<GradientSpec> tensors;
    for (const char* name : {"p0", "p1", "p2", "p3"})
      tensors.push_back({name, rondoFloat32, 4});
    BucketOptions options = quiet();
    options.capBytes = options.firstCapBytes = 32;
    GradientBuckets buckets(comm, tensors, options);
    EXPECT_THAT(buckets.tensorsOf(0), ElementsAre(3, 2));
    const Indices order = comm.rank() == 0 ? Indices{1, 0, 3, 2} : Indices{0, 1, 2, 3};
    for (int pass = 0; pass < 2; ++pass) {
      for (const std::size_t tensor : order) {
        std::ranges::fill(buckets.view<float>(tensor), static_cast<float>(tensor + 1));
        buckets.markReady(tensor);
      }
      buckets.finish();
      for (std::size_t tensor = 0; tensor < 4; ++tensor) {
        EXPECT_EQ(buckets.view<float>(tensor)[3], static_cast<float>(tensor + 1));
      }
    }
    EXPECT_EQ(buckets.size(), 2U);
    EXPECT_THAT(buckets.tensorsOf(0), ElementsAre(1, 0));
    EXPECT_THAT(buckets.tensorsOf(1), ElementsAre(3, 2));
  });
}

TEST(GradientBuckets, BeginWhileBackwardGoesOn) {
  runRanks(2, [](const Communicator& comm) {
    BucketOptions options = quiet();
    options.firstCapBytes = 0;
    GradientBuckets buckets(comm, {{"first", rondoFloat32, 4}, {"last", rondoFloat32, 4}}, options);
    buckets.markReady(1);
    // Backward of the first layer ends only when the last one's gradient has been exchanged.
    while (buckets.times().communicating.count() == 0 && comm.asyncError() == rondoSuccess)
      std::this_thread::yield();
    buckets.markReady(0);
    buckets.finish();
    EXPECT_EQ(buckets.times().operations, 2U);
  });
}

TEST(GradientBuckets, CountWhatWasUsedInAnyPassOfAWindow) {
  // pytorch/pytorch#69031: a in the first pass only, b in the second only.
  runRanks(2, [](const Communicator& comm) {
    const auto one = static_cast<float>(comm.rank() + 1);
    GradientBuckets buckets(comm, {{"a", rondoFloat32, 1}, {"b", rondoFloat32, 1}}, quiet());
    {
      const GradientBuckets::NoSync window(buckets);
      buckets.view<float>(0)[0] += one;
      buckets.markReady(0);
      buckets.markUnused(1);
      buckets.finish();
      EXPECT_EQ(buckets.view<float>(0)[0], one);
    }
    buckets.view<float>(1)[0] += 10 * one;
    buckets.markReady(1);
    buckets.markUnused(0);
    buckets.finish();
    EXPECT_EQ(buckets.view<float>(0)[0], 1.5F);
    EXPECT_EQ(buckets.view<float>(1)[0], 15.0F);
    EXPECT_EQ(buckets.times().passes, 1U);
  });
}

TEST(GradientBuckets, AddUpMicroBatches) {
  runRanks(2, [](const Communicator& comm) {
    std::vector<float> mine(1);
    GradientBuckets buckets(comm, {{"w", rondoFloat32, 1, mine.data()}}, quiet());
    const std::vector<float> parts =
        comm.rank() == 0 ? std::vector<float>{1, 2, 3} : std::vector<float>{5, 6, 7};
    {
      const GradientBuckets::NoSync window(buckets);
      for (const float part : {parts[0], parts[1]}) {
        mine[0] += part;
        buckets.markReady(0);
        buckets.finish();
      }
    }
    mine[0] += parts[2];
    buckets.markReady(0);
    buckets.finish();
    EXPECT_EQ(mine[0], 12.0F);
  });
}

TEST(GradientBuckets, NameWhatWasNeverMarkedOnAllRanksAndGoOn) {
  runRanks(3, [](const Communicator& comm) {
    GradientBuckets buckets(
        comm, {{"layer1.w", rondoFloat32, 2}, {"layer2.w", rondoFloat32, 2, nullptr, 2}}, quiet());
    const bool forgets = comm.rank() == 1;
    buckets.markReady(1);
    if (!forgets) buckets.markReady(1);
    if (!forgets) buckets.markReady(0);
    EXPECT_THAT(messageOf([&] { buckets.finish(); }),
                AllOf(HasSubstr("layer1.w was never marked on rank 1"),
                      HasSubstr("layer2.w was marked less than 2 times on rank 1"),
                      Not(HasSubstr("rank 2"))));
    for (int use = 0; use < 2; ++use)
      buckets.markReady(1);
    std::ranges::fill(buckets.view<float>(0), 3.0F);
    buckets.markReady(0);
    buckets.finish();
    EXPECT_THAT(buckets.view<float>(0), ElementsAre(3.0F, 3.0F));
  });
}

TEST(GradientBuckets, TakeZerosForWhatIsUnused) {
  runRanks(2, [](const Communicator& comm) {
    BucketOptions options = quiet();
    options.missing = MissingGradient::kZero;
    GradientBuckets buckets(
        comm, {{"a", rondoFloat32, 1}, {"b", rondoFloat32, 1}, {"c", rondoFloat32, 1}}, options);
    for (std::size_t tensor = 0; tensor < 3; ++tensor)
      buckets.view<float>(tensor)[0] = 4;  // what an earlier pass left, where nothing is marked
    buckets.markReady(0);
    if (comm.rank() == 0) buckets.markReady(1);
    buckets.finish();
    EXPECT_EQ(buckets.view<float>(0)[0], 4.0F);
    EXPECT_EQ(buckets.view<float>(1)[0], 2.0F);
    EXPECT_EQ(buckets.view<float>(2)[0], 0.0F);
  });
}

TEST(GradientBuckets, RefuseWrongMarks) {
  runRanks(1, [](const Communicator& comm) {
    GradientBuckets buckets(comm, {{"w", rondoFloat32, 1}, {"v", rondoFloat32, 1}}, quiet());
    buckets.markReady(0);
    EXPECT_THAT(messageOf([&] { buckets.markReady(0); }),
                HasSubstr("rank 0: w was marked ready 2 times but has 1 uses"));
    EXPECT_THAT(messageOf([&] { buckets.markUnused(0); }), HasSubstr("w was said to be unused"));
    buckets.markUnused(1);
    EXPECT_THAT(messageOf([&] { buckets.markReady(1); }), HasSubstr("v was marked ready after"));
    buckets.finish();
  });
}

TEST(GradientBuckets, MustBeTheSameOnAllRanks) {
  runRanks(3, [](const Communicator& comm) {
    const std::size_t count = comm.rank() == 2 ? 5 : 4;
    const auto make = [&] {
      GradientBuckets(comm, {{"a", rondoFloat32, 1}, {"b", rondoFloat32, count}}, quiet());
    };
    EXPECT_THAT(messageOf(make), AllOf(HasSubstr("number 1 is b (type 10, 5 elements"),
                                       HasSubstr("on rank 2 but b (type 10, 4 elements")));
    EXPECT_THAT(messageOf([&] {
                  GradientBuckets(comm, {{"a", rondoFloat32, 1}, {"a", rondoFloat32, 1}}, quiet());
                }),
                HasSubstr("two tensors are called a"));
  });
}

TEST(GradientBuckets, SmallValuesSurviveBesideHalfPrecision) {
  // facebookresearch/fairscale#583: types mixed in one bucket lose 1e-8.
  runRanks(2, [](const Communicator& comm) {
    GradientBuckets buckets(comm,
                            {{"a", rondoFloat32, 3},
                             {"b", rondoFloat16, 5},
                             {"c", rondoFloat32, 2},
                             {"d", rondoBfloat16, 4}},
                            quiet());
    EXPECT_EQ(buckets.size(), 3U);
    std::ranges::fill(buckets.view<float>(0), comm.rank() == 0 ? 1e-8F : 3e-8F);
    for (const std::size_t tensor : {3, 2, 1, 0})
      buckets.markReady(tensor);
    buckets.finish();
    EXPECT_EQ(buckets.view<float>(0)[2], (1e-8F + 3e-8F) / 2);
  });
}

TEST(GradientBuckets, ThatAreGivenUpFailThoseWhoWait) {
  runRanks(2, [](const Communicator& comm) {
    GradientBuckets buckets(comm, {{"w", rondoFloat32, 1}}, quiet());
    if (comm.rank() == 0) return;  // as a rank whose backward throws
    buckets.markReady(0);
    EXPECT_NE(messageOf([&] { buckets.finish(); }), "nothing thrown");
  });
}

TEST(StallReport, NamesTensorsAndMissingRanks) {
  const std::vector<std::string> names{"layer1.w", "layer2.w"};
  const std::chrono::milliseconds period{3000};
  const std::vector<PassProgress> now{{4, {1, 1}}, {4, {1, 0}}, {5, {0, 0}}};
  EXPECT_EQ(describeStall(now, now, names, period),
            "gradients: nothing moved for 3000 ms in pass 4: layer2.w: missing on rank 1, ready on "
            "ranks 0, 2");
  EXPECT_EQ(describeStall(now, {{4, {1, 1}}, {4, {0, 0}}, {5, {0, 0}}}, names, period), "");
  EXPECT_EQ(describeStall(now, {}, names, period), "");
  const std::vector<PassProgress> even{{4, {1, 0}}, {4, {1, 0}}, {4, {1, 0}}};
  EXPECT_EQ(describeStall(even, even, names, period), "");
}

TEST(StallReport, ComesFromAllRanksWhileOneStandsStill) {
  std::mutex mutex;
  std::vector<std::string> reports;
  runRanks(3, [&](const Communicator& comm) {
    BucketOptions options;
    options.stallAfter = std::chrono::milliseconds{50};
    options.onStall = [&](const std::string& line) {
      const std::lock_guard lock(mutex);
      reports.push_back(line);
    };
    GradientBuckets buckets(comm, {{"layer1.w", rondoFloat32, 1}, {"layer2.w", rondoFloat32, 1}},
                            options);
    buckets.markReady(0);
    if (comm.rank() != 1) buckets.markReady(1);
    const auto wanted = [&] {
      const std::lock_guard lock(mutex);
      return std::ranges::count_if(reports, [](const std::string& line) {
               return line.find("layer2.w: missing on rank 1, ready on ranks 0, 2") !=
                      std::string::npos;
             }) >= 3;
    };
    while (comm.rank() == 1 && !wanted() && comm.asyncError() == rondoSuccess)
      std::this_thread::yield();
    if (comm.rank() == 1) buckets.markReady(1);
    buckets.finish();
  });
  EXPECT_GE(reports.size(), 3U);
}

}  // namespace
}  // namespace rondo::train
