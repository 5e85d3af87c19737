// Compressed collectives: their bits are those of docs/compression.md, on all ranks; what they send
// and whether a result is finite is reported; error feedback makes up for what is rounded away.
// Cases from public bug reports: X01, X02, X03.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/host/block_coder.h"
#include "rondo/rondo.hpp"
#include "tests/collective/communicators.h"
#include "tests/collective/compressed_call.h"

namespace rondo::testing {
namespace {

using ::testing::HasSubstr;

CommunicatorSettings settingsOf(int ranks) {
  CommunicatorSettings settings;
  settings.ranks = ranks;
  settings.operationTimeoutMs = 60000;
  settings.logLevel = "error";
  return settings;
}

// ---- What the results must be -------------------------------------------------------------------

/// The elements of each block of a buffer of `elems` elements: a block ends at `blockElems`, at a
/// tensor's end and, if `part` is not 0, at each multiple of that.
std::vector<Span> blocksOf(std::size_t elems, const CompressedCall& call, std::size_t part) {
  std::vector<std::size_t> ends(call.tensors.size());
  std::partial_sum(call.tensors.begin(), call.tensors.end(), ends.begin());
  if (scaleBytes(call.codec) == 0) ends.clear();
  std::vector<Span> blocks;
  for (std::size_t first = 0; first < elems;) {
    std::size_t end = std::min(elems, first + call.blockElems);
    if (part > 0) end = std::min(end, (first / part + 1) * part);
    for (const std::size_t tensorEnd : ends) {
      if (tensorEnd > first) end = std::min(end, tensorEnd);
    }
    blocks.push_back({first, end - first});
    first = end;
  }
  return blocks;
}

/// decode(encode(values)), in place.
void roundTrip(Codec codec, float* values, std::size_t elems) {
  const host::BlockCoder coder(codec, host::SimdTarget::kScalar);
  std::vector<std::byte> codes(elems * codeBytes(codec));
  std::byte scale[4];
  coder.encode(values, elems, {scale, codes.data()});
  coder.decode({scale, codes.data()}, elems, values);
}

void roundTripAll(const CompressedCall& call, std::vector<float>& values, std::size_t part) {
  for (const Span& block : blocksOf(values.size(), call, part))
    roundTrip(call.codec, values.data() + block.offset, block.elems);
}

/// What each rank's recv must hold.
std::vector<Bytes> expectedOf(const CompressedCall& call, const std::vector<Bytes>& inputs) {
  const std::size_t ranks = inputs.size();
  const bool reduces = isReduction(call.collective);
  const std::size_t part = call.collective == Collective::kAllReduce ? 0 : call.count;
  std::vector<float> whole;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::vector<float> values = widened(call.type, inputs[rank]);
    if (!reduces) {
      whole.insert(whole.end(), values.begin(), values.end());
      continue;
    }
    roundTripAll(call, values, part);
    if (rank == 0) {
      whole = values;
    } else {
      for (std::size_t i = 0; i < whole.size(); ++i)
        whole[i] += values[i];
    }
  }
  if (call.op == ReduceOp::kAvg) {
    for (float& value : whole)
      value /= static_cast<float>(ranks);
  }
  if (call.collective != Collective::kReduceScatter) roundTripAll(call, whole, part);
  const Bytes all = narrowed(call.type, whole);
  const std::size_t elem = elementBytes(call.type);
  std::vector<Bytes> expected;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const bool scatters = call.collective == Collective::kReduceScatter;
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(scatters ? rank * call.count * elem
                                                                          : std::size_t{0});
    const std::size_t bytes = call.recvElems(ranks) * elem;
    expected.emplace_back(first, first + static_cast<std::ptrdiff_t>(bytes));
  }
  return expected;
}

std::vector<Bytes> randomInputs(const CompressedCall& call, int ranks, unsigned seed = 1) {
  std::vector<Bytes> inputs;
  for (int rank = 0; rank < ranks; ++rank) {
    std::mt19937 random(seed * 100 + static_cast<unsigned>(rank));
    std::normal_distribution<float> normal;
    std::vector<float> values(call.sendElems(static_cast<std::size_t>(ranks)));
    for (float& value : values)
      value = std::ldexp(normal(random), static_cast<int>(random() % 5) - 2);
    inputs.push_back(narrowed(call.type, values));
  }
  return inputs;
}

void expectDefinition(const CompressedCall& call, const Communicators& comms) {
  SCOPED_TRACE(::testing::Message() << call << " ranks " << comms.ranks());
  const std::vector<Bytes> inputs = randomInputs(call, comms.ranks());
  const std::vector<Bytes> expected = expectedOf(call, inputs);
  const CompressedOutcome outcome = runCompressed(call, comms, inputs);
  for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
    ASSERT_TRUE(outcome.recv[rank] == expected[rank]) << "rank " << rank;
    EXPECT_EQ(outcome.reports[rank].nonFinite, 0);
    EXPECT_EQ(outcome.reports[rank].feedbackReset, 0);
  }
}

// ---- Bits ---------------------------------------------------------------------------------------

TEST(CompressedMatrix, EveryCodecAndTypeGivesTheBitsOfTheDefinition) {
  constexpr DataType kTypes[] = {DataType::kFloat32,  DataType::kFloat64,    DataType::kFloat16,
                                 DataType::kBfloat16, DataType::kFloat8E4m3, DataType::kFloat8E5m2};
  const Communicators comms(settingsOf(3));
  for (const Collective collective : kCompressedCollectives) {
    for (const Codec codec : kAllCodecs) {
      for (const DataType type : kTypes) {
        CompressedCall call{.collective = collective, .codec = codec, .type = type, .count = 700};
        // fp8 results shall stay finite.
        call.op = isReduction(collective) ? ReduceOp::kAvg : ReduceOp::kSum;
        expectDefinition(call, comms);
      }
    }
  }
}

TEST(CompressedMatrix, EverySizeAndNumberOfRanks) {
  for (const int ranks : {1, 2, 3, 5}) {
    const Communicators comms(settingsOf(ranks));
    for (const Collective collective : kCompressedCollectives) {
      for (const std::size_t count : {0u, 1u, 15u, 16u, 17u, 256u, 257u, 1000u, 20000u}) {
        for (const bool inPlace : {false, true}) {
          expectDefinition({.collective = collective, .count = count, .inPlace = inPlace}, comms);
        }
      }
    }
  }
}

TEST(CompressedMatrix, EveryBlockSizeChunkAndChannel) {
  CommunicatorSettings settings = settingsOf(3);
  settings.chunkBytes = 4160;  // a few blocks, so that there are many loops
  for (const int channels : {0, 3}) {
    settings.channels = channels;
    const Communicators comms(settings);
    for (const Collective collective : kCompressedCollectives) {
      for (const std::size_t blockElems : {16u, 48u, 256u, 4096u}) {
        CompressedCall call{.collective = collective, .count = 9001, .blockElems = blockElems};
        expectDefinition(call, comms);
        const std::size_t elems = collective == Collective::kAllReduce ? 9001 : 3 * 9001;
        call.tensors = unevenTensors(elems);
        expectDefinition(call, comms);
      }
    }
  }
}

TEST(Compressed, WhatIsBesideATensorDoesNotChangeItsBits) {
  const Communicators comms(settingsOf(3));
  const CompressedCall both{.count = 1000, .tensors = {300, 700}};
  const std::vector<Bytes> inputs = randomInputs(both, 3);
  const CompressedOutcome together = runCompressed(both, comms, inputs);
  std::size_t first = 0;
  for (const std::size_t elems : both.tensors) {
    std::vector<Bytes> own;
    const auto begin = static_cast<std::ptrdiff_t>(first * sizeof(float));
    const auto end = static_cast<std::ptrdiff_t>((first + elems) * sizeof(float));
    for (const Bytes& input : inputs)
      own.emplace_back(input.begin() + begin, input.begin() + end);
    const CompressedOutcome alone = runCompressed({.count = elems}, comms, own);
    EXPECT_TRUE(
        std::equal(alone.recv[1].begin(), alone.recv[1].end(), together.recv[2].begin() + begin));
    first += elems;
  }
}

/// Values of one rank that sum up beyond what int8 holds.
TEST(Compressed, CodesAreNotSummedAsCodes) {
  const Communicators comms(settingsOf(4));
  const CompressedCall call{.op = ReduceOp::kAvg, .count = 10};
  std::vector<Bytes> inputs(4, narrowed(DataType::kFloat32, std::vector<float>(10, 1.0f)));
  for (const float value : widened(DataType::kFloat32, runCompressed(call, comms, inputs).recv[3]))
    EXPECT_NEAR(value, 1.0f, 1.0f / 127);
  inputs[0] = narrowed(DataType::kFloat32, std::vector<float>(10, 1000.0f));
  inputs[1] = inputs[2] = inputs[3] = narrowed(DataType::kFloat32, std::vector<float>(10, 0.001f));
  for (const float value : widened(DataType::kFloat32, runCompressed(call, comms, inputs).recv[2]))
    EXPECT_NEAR(value, 250.00075f, 1000.0f / 127 / 2 / 4 + 250.0f / 127 / 2);
}

TEST(Compressed, RanksInThreadsAndOnStreamsGetTheSame) {
  const Communicators comms(settingsOf(2));
  const CompressedCall call{.count = 5000};
  const std::vector<Bytes> inputs = randomInputs(call, 2);
  const std::vector<Bytes> expected = expectedOf(call, inputs);
  std::vector<Bytes> recv(2, Bytes(call.count * sizeof(float)));
  std::vector<rondoCompressionReport_t> reports(2);
  std::vector<Stream> streams(2);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    rondoCompression_t how = howOf(call);
    how.report = &reports[rank];
    ASSERT_EQ(issue(call, inputs[rank].data(), recv[rank].data(), how,
                    comms[static_cast<int>(rank)], streams[rank]),
              rondoSuccess);
  }
  for (std::size_t rank = 0; rank < 2; ++rank) {
    streams[rank].synchronize();
    EXPECT_TRUE(recv[rank] == expected[rank]);
    EXPECT_GT(reports[rank].wireBytes, 0u);
  }
}

TEST(Compressed, TheCppInterfaceDoesTheSame) {
  Communicator comm = std::move(Communicator::createAll(1).front());
  const ErrorFeedback feedback;
  rondoCompressionReport_t report = {};
  rondoCompression_t how = RONDO_COMPRESSION_INITIALIZER;
  how.feedback = feedback.handle();
  how.report = &report;
  const std::vector<float> input = {1.0f, 0.001f};
  std::vector<float> output(2);
  comm.allReduceCompressed(input, output, how, rondoAvg);
  EXPECT_EQ(output, (std::vector<float>{1.0f, 0.0f}));
  const std::vector<std::byte> saved = feedback.save();
  feedback.reset();
  EXPECT_NE(feedback.save(), saved);
  feedback.load(saved);
  EXPECT_EQ(feedback.save(), saved);
  comm.reduceScatterCompressed(input, output, how);
  EXPECT_EQ(report.feedbackReset, 1);
  comm.allGatherCompressed(input, output, how);
  EXPECT_EQ(output.front(), 1.0f);
  std::vector<float> other(3);
  EXPECT_THROW(comm.allGatherCompressed(input, other, how), Error);
}

// ---- Reports ------------------------------------------------------------------------------------

TEST(Compressed, Int8SendsAtMost27PercentOfTheBytes) {
  const Communicators comms(settingsOf(4));
  for (const Collective collective : kCompressedCollectives) {
    const CompressedCall call{.collective = collective, .count = 65536};
    const CompressedOutcome outcome = runCompressed(call, comms, randomInputs(call, 4));
    for (const rondoCompressionReport_t& report : outcome.reports) {
      EXPECT_LE(static_cast<double>(report.wireBytes),
                0.27 * static_cast<double>(report.plainBytes));
      const std::uint64_t part = collective == Collective::kAllReduce ? 65536 / 4 * 2 : 65536;
      EXPECT_EQ(report.plainBytes, 3 * part * sizeof(float));
    }
  }
}

TEST(Compressed, AShortTensorIsNotPadded) {
  const Communicators comms(settingsOf(2));
  const CompressedCall call{.count = 30, .tensors = {10, 20}};
  const CompressedOutcome outcome = runCompressed(call, comms, randomInputs(call, 2));
  // Rank 0 owns the first tensor: sends the second and the first's sum.
  EXPECT_EQ(outcome.reports[0].wireBytes, 4u + 20 + 4 + 10);
}

void expectReported(const CompressedCall& call,
                    const Communicators& comms,
                    float value,
                    int expected) {
  SCOPED_TRACE(::testing::Message() << call << " with " << value);
  const std::vector<float> ones(call.sendElems(3), 1.0f);
  std::vector<Bytes> inputs(3, narrowed(call.type, ones));
  std::vector<float> other = ones;
  other[other.size() / 2] = value;
  inputs[1] = narrowed(call.type, other);
  for (const rondoCompressionReport_t& report : runCompressed(call, comms, inputs).reports)
    EXPECT_EQ(report.nonFinite, expected);
}

TEST(Compressed, NonFiniteIsReportedOnEveryRank) {
  const Communicators comms(settingsOf(3));
  for (const Collective collective : kCompressedCollectives) {
    for (const Codec codec : kAllCodecs) {
      const CompressedCall call{.collective = collective, .codec = codec, .count = 600};
      expectReported(call, comms, std::numeric_limits<float>::infinity(), 1);
      expectReported(call, comms, std::numeric_limits<float>::quiet_NaN(), 1);
      expectReported(call, comms, 100.0f, 0);
    }
    // Beyond the codec, the element type, and neither.
    expectReported({.collective = collective, .codec = Codec::kFloat16, .count = 600}, comms, 1e5f,
                   1);
    expectReported({.collective = collective, .codec = Codec::kBfloat16, .count = 600}, comms, 1e5f,
                   0);
  }
  expectReported({.type = DataType::kFloat16, .count = 600}, comms, 65504.0f, 0);
  std::vector<Bytes> large(3, narrowed(DataType::kFloat16, std::vector<float>(100, 40000.0f)));
  const CompressedOutcome outcome =
      runCompressed({.type = DataType::kFloat16, .count = 100}, comms, large);
  for (const rondoCompressionReport_t& report : outcome.reports)
    EXPECT_EQ(report.nonFinite, 1);
}

// ---- Error feedback -----------------------------------------------------------------------------

class Feedback : public ::testing::Test {
 protected:
  ~Feedback() override {
    for (const rondoErrorFeedback_t feedback : feedbacks_)
      EXPECT_EQ(rondoErrorFeedbackDestroy(feedback), rondoSuccess);
  }

  const std::vector<rondoErrorFeedback_t>& make(std::size_t ranks) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      rondoErrorFeedback_t feedback = nullptr;
      EXPECT_EQ(rondoErrorFeedbackCreate(&feedback), rondoSuccess);
      feedbacks_.push_back(feedback);
    }
    return feedbacks_;
  }

  /// The element furthest from `exact` in the mean of `sum` over `steps`.
  static double worst(const std::vector<double>& sum, int steps, const std::vector<double>& exact) {
    double most = 0;
    for (std::size_t i = 0; i < sum.size(); ++i)
      most = std::max(most, std::fabs(sum[i] / steps - exact[i]));
    return most;
  }

  std::vector<rondoErrorFeedback_t> feedbacks_;
};

/// One rank alone, so that what is sent is seen.
TEST_F(Feedback, SendsInTheEndWhatIsTooSmallToBeSentAtOnce) {
  const Communicators comms(settingsOf(1));
  const CompressedCall call{.collective = Collective::kReduceScatter, .count = 2};
  const std::vector<Bytes> inputs(1, narrowed(DataType::kFloat32, {1.0f, 0.001f}));
  make(1);
  double sent = 0;
  double sentWithout = 0;
  for (int step = 0; step < 10; ++step) {
    sent += widened(DataType::kFloat32, runCompressed(call, comms, inputs, feedbacks_).recv[0])[1];
    sentWithout += widened(DataType::kFloat32, runCompressed(call, comms, inputs).recv[0])[1];
  }
  EXPECT_NEAR(sent, 1.0 / 127, 1e-6);
  EXPECT_EQ(sentWithout, 0);
  float residual = 0;
  const Bytes saved = savedOf(feedbacks_[0]);
  std::memcpy(&residual, saved.data() + saved.size() - sizeof residual, sizeof residual);
  EXPECT_NEAR(residual, 0.01 - 1.0 / 127, 1e-6);
}

/// The mean of T results errs by a constant over T with feedback: residuals are bounded by half a
/// scale each. Without it errs by a constant.
TEST_F(Feedback, TheMeanOfManyStepsConvergesToTheExactOne) {
  constexpr int kRanks = 3;
  constexpr int kMostSteps = 1000;
  const Communicators comms(settingsOf(kRanks));
  const CompressedCall call{.op = ReduceOp::kAvg, .count = 600};
  const std::vector<Bytes> inputs = randomInputs(call, kRanks);
  std::vector<double> exact(call.count);
  double peak = 0;
  for (const Bytes& input : inputs) {
    const std::vector<float> values = widened(call.type, input);
    for (std::size_t i = 0; i < call.count; ++i) {
      exact[i] += static_cast<double>(values[i]) / kRanks;
      peak = std::max(peak, std::fabs(static_cast<double>(values[i])));
    }
  }
  make(kRanks);
  // With residuals of half a scale, peaks grow by that at most: a contribution's and the result's.
  const double bound = 2 * (peak / 127) * 1.01;
  std::vector<double> with(call.count);
  std::vector<double> without(call.count);
  double firstWithout = 0;
  for (int step = 1; step <= kMostSteps; ++step) {
    const std::vector<float> one =
        widened(call.type, runCompressed(call, comms, inputs, feedbacks_).recv[step % kRanks]);
    const std::vector<float> other = widened(call.type, runCompressed(call, comms, inputs).recv[0]);
    for (std::size_t i = 0; i < call.count; ++i) {
      with[i] += static_cast<double>(one[i]);
      without[i] += static_cast<double>(other[i]);
    }
    if (step == 1) firstWithout = worst(without, 1, exact);
    if (step == 1 || step == 10 || step == 100 || step == kMostSteps) {
      EXPECT_LE(worst(with, step, exact), bound / step + 1e-6) << "after " << step;
      EXPECT_NEAR(worst(without, step, exact), firstWithout, 1e-6) << "after " << step;
    }
  }
  EXPECT_LT(worst(with, kMostSteps, exact), firstWithout / 100);
}

TEST_F(Feedback, IsForgottenAfterAResultThatIsNotFinite) {
  const Communicators comms(settingsOf(2));
  const CompressedCall call{.count = 400};
  const std::vector<Bytes> inputs = randomInputs(call, 2);
  make(2);
  const CompressedOutcome first = runCompressed(call, comms, inputs, feedbacks_);
  const CompressedOutcome second = runCompressed(call, comms, inputs, feedbacks_);
  EXPECT_FALSE(first.recv[0] == second.recv[0]) << "feedback changes something";
  std::vector<Bytes> broken = inputs;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(broken[1].data() + 80, &nan, sizeof nan);
  const CompressedOutcome third = runCompressed(call, comms, broken, feedbacks_);
  for (const rondoCompressionReport_t& report : third.reports) {
    EXPECT_EQ(report.nonFinite, 1);
    EXPECT_EQ(report.feedbackReset, 1);
  }
  const CompressedOutcome fourth = runCompressed(call, comms, inputs, feedbacks_);
  EXPECT_TRUE(fourth.recv[0] == first.recv[0]) << "as from the beginning";
  EXPECT_EQ(fourth.reports[0].feedbackReset, 0);
}

TEST_F(Feedback, BeginsAnewWithACallOfAnotherShape) {
  const Communicators comms(settingsOf(2));
  const CompressedCall call{.count = 400};
  CompressedCall other = call;
  other.tensors = {100, 300};
  const std::vector<Bytes> inputs = randomInputs(call, 2);
  make(2);
  const CompressedOutcome first = runCompressed(call, comms, inputs, feedbacks_);
  const CompressedOutcome rebuilt = runCompressed(other, comms, inputs, feedbacks_);
  EXPECT_EQ(rebuilt.reports[1].feedbackReset, 1);
  const CompressedOutcome back = runCompressed(call, comms, inputs, feedbacks_);
  EXPECT_EQ(back.reports[1].feedbackReset, 1);
  EXPECT_TRUE(back.recv[0] == first.recv[0]);
  EXPECT_EQ(rondoErrorFeedbackReset(feedbacks_[0]), rondoSuccess);
  EXPECT_EQ(rondoErrorFeedbackReset(feedbacks_[1]), rondoSuccess);
  EXPECT_TRUE(runCompressed(call, comms, inputs, feedbacks_).recv[0] == first.recv[0]);
}

TEST_F(Feedback, GoesOnFromWhatWasSaved) {
  const Communicators comms(settingsOf(2));
  const CompressedCall call{.count = 700};
  make(4);
  const std::vector<rondoErrorFeedback_t> original(feedbacks_.begin(), feedbacks_.begin() + 2);
  const std::vector<rondoErrorFeedback_t> copies(feedbacks_.begin() + 2, feedbacks_.end());
  for (unsigned step = 1; step < 4; ++step)
    runCompressed(call, comms, randomInputs(call, 2, step), original);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const Bytes saved = savedOf(original[rank]);
    ASSERT_EQ(rondoErrorFeedbackLoad(copies[rank], saved.data(), saved.size()), rondoSuccess);
  }
  const std::vector<Bytes> inputs = randomInputs(call, 2, 9);
  const CompressedOutcome resumed = runCompressed(call, comms, inputs, copies);
  EXPECT_EQ(resumed.reports[0].feedbackReset, 0);
  EXPECT_TRUE(resumed.recv[1] == runCompressed(call, comms, inputs, original).recv[1]);
  EXPECT_FALSE(resumed.recv[1] == runCompressed(call, comms, inputs).recv[1]);
}

TEST_F(Feedback, RefusesBytesThatAreNotWhatWasSaved) {
  const Communicators comms(settingsOf(2));
  const CompressedCall call{.count = 50};
  make(2);
  runCompressed(call, comms, randomInputs(call, 2), feedbacks_);
  const Bytes saved = savedOf(feedbacks_[0]);
  const auto load = [&](const Bytes& bytes) {
    return rondoErrorFeedbackLoad(feedbacks_[0], bytes.data(), bytes.size());
  };
  for (std::size_t at = 0; at < saved.size(); ++at) {
    Bytes changed = saved;
    changed[at] ^= std::byte{0x10};
    EXPECT_EQ(load(changed), rondoInvalidArgument) << "byte " << at;
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{8}, saved.size() - 4}) {
    EXPECT_EQ(load(Bytes(saved.begin(), saved.begin() + static_cast<std::ptrdiff_t>(size))),
              rondoInvalidArgument);
  }
  Bytes newer = saved;
  newer[8] = std::byte{2};
  EXPECT_EQ(load(newer), rondoInvalidArgument);
  EXPECT_THAT(rondoGetLastError(nullptr), HasSubstr("version 2 of its format"));
  EXPECT_TRUE(savedOf(feedbacks_[0]) == saved) << "unchanged by what was refused";
  EXPECT_EQ(load(saved), rondoSuccess);
  std::size_t size = 0;
  Bytes small(saved.size() - 1);
  EXPECT_EQ(rondoErrorFeedbackSave(feedbacks_[0], small.data(), small.size(), &size),
            rondoInvalidArgument);
}

// ---- Refusals -----------------------------------------------------------------------------------

/// One rank's call that must be refused.
class Refusals : public ::testing::Test {
 protected:
  Refusals() : comms_(settingsOf(1)) {}

  void expectRefused(rondoResult_t result,
                     const std::string& text,
                     const CompressedCall& call = kPlain) {
    expectRefused(result, text, call, howOf(call));
  }

  void expectRefused(rondoResult_t result,
                     const std::string& text,
                     const CompressedCall& call,
                     const rondoCompression_t& how) {
    std::vector<double> data(100);
    EXPECT_EQ(issue(call, data.data(), data.data(), how, comms_[0]), result) << text;
    EXPECT_THAT(rondoGetLastError(comms_[0]), HasSubstr(text));
  }

  static inline const CompressedCall kPlain{.count = 100};

  Communicators comms_;
};

TEST_F(Refusals, NameWhatIsWrong) {
  CompressedCall call = kPlain;
  call.type = DataType::kInt32;
  expectRefused(rondoInvalidArgument, "type int32 cannot be compressed", call);
  call = kPlain;
  call.op = ReduceOp::kMax;
  expectRefused(rondoNotSupported, "op max of compressed elements", call);
  call = kPlain;
  for (const std::size_t blockElems : {0u, 8u, 24u, 16400u}) {
    call.blockElems = blockElems;
    expectRefused(rondoInvalidArgument, "pass a multiple of 16 from 16 to 16384", call);
  }
  call = kPlain;
  call.tensors = {60, 41};
  expectRefused(rondoInvalidArgument, "the first 2 tensors have more than the 100 elements", call);
  call.tensors = {60, 39};
  expectRefused(rondoInvalidArgument, "the 2 tensors have 99 elements, the buffer has 100", call);
  rondoCompression_t how = howOf(kPlain);
  how.codec = static_cast<rondoCodec_t>(5);
  expectRefused(rondoInvalidArgument, "codec 5 is no rondoCodec_t", kPlain, how);
  how = howOf(kPlain);
  how.betweenHosts = 1;
  expectRefused(rondoNotSupported, "collectives of two levels do not compress yet", kPlain, how);
  how.betweenHosts = 2;
  expectRefused(rondoInvalidArgument, "betweenHosts is 2", kPlain, how);
  how = howOf(kPlain);
  how.magic = 0;
  expectRefused(rondoInvalidArgument, "start from RONDO_COMPRESSION_INITIALIZER", kPlain, how);
  how = howOf(kPlain);
  how.size = sizeof how + 8;
  expectRefused(rondoInvalidArgument, "use a library that is at least as new", kPlain, how);
  how = howOf(kPlain);
  how.tensors = 3;
  expectRefused(rondoInvalidArgument, "tensors is 3", kPlain, how);
  float value = 1;
  EXPECT_EQ(rondoAllReduceCompressed(&value, &value, 1, rondoFloat32, rondoSum, nullptr, comms_[0],
                                     nullptr),
            rondoInvalidArgument);
  EXPECT_THAT(rondoGetLastError(comms_[0]), HasSubstr("compression is NULL"));
}

void keepFirst(void*, const void*, size_t, rondoDataType_t, void*) {}

TEST_F(Refusals, OfComplexNumbersAndFunctions) {
  std::vector<double> data(100);
  const rondoCompression_t how = howOf(kPlain);
  EXPECT_EQ(rondoAllReduceCompressed(data.data(), data.data(), 50, rondoComplex64, rondoSum, &how,
                                     comms_[0], nullptr),
            rondoNotSupported);
  EXPECT_THAT(rondoGetLastError(comms_[0]), HasSubstr("complex numbers cannot be compressed"));
  rondoRedOp_t op{};
  ASSERT_EQ(rondoRedOpCreateUser(&op, keepFirst, 1, nullptr, comms_[0]), rondoSuccess);
  EXPECT_EQ(rondoAllReduceCompressed(data.data(), data.data(), 100, rondoFloat64, op, &how,
                                     comms_[0], nullptr),
            rondoNotSupported);
  EXPECT_THAT(rondoGetLastError(comms_[0]),
              HasSubstr("a reduction by a function of the program cannot be compressed"));
  EXPECT_EQ(rondoRedOpDestroy(op, comms_[0]), rondoSuccess);
}

TEST_F(Refusals, OfErrorFeedbackThatIsNone) {
  rondoErrorFeedback_t feedback = nullptr;
  ASSERT_EQ(rondoErrorFeedbackCreate(&feedback), rondoSuccess);
  ASSERT_EQ(rondoErrorFeedbackDestroy(feedback), rondoSuccess);
  EXPECT_EQ(rondoErrorFeedbackDestroy(feedback), rondoInvalidUsage);
  EXPECT_EQ(rondoErrorFeedbackDestroy(nullptr), rondoSuccess);
  EXPECT_EQ(rondoErrorFeedbackReset(nullptr), rondoInvalidArgument);
  EXPECT_EQ(rondoErrorFeedbackCreate(nullptr), rondoInvalidArgument);
  rondoCompression_t how = howOf(kPlain);
  how.feedback = feedback;
  expectRefused(rondoInvalidUsage, "was destroyed", kPlain, how);
}

TEST(Compressed, RulesAreAboutCallsThatAreNot) {
  CommunicatorSettings settings = settingsOf(1);
  settings.algorithm = "all_reduce:ring";
  const Communicators comms(settings);
  std::vector<float> data(100, 1.0F);
  rondoCompression_t how = RONDO_COMPRESSION_INITIALIZER;
  EXPECT_EQ(rondoAllReduceCompressed(data.data(), data.data(), 100, rondoFloat32, rondoSum, &how,
                                     comms[0], nullptr),
            rondoSuccess)
      << rondoGetLastError(comms[0]);
  EXPECT_EQ(data, std::vector<float>(100, 1.0F));
}

TEST(Compressed, SlotsThatAreTooSmallAreNamed) {
  CommunicatorSettings settings = settingsOf(1);
  settings.chunkBytes = 128;
  const Communicators comms(settings);
  std::vector<float> data(100);
  rondoCompression_t how = RONDO_COMPRESSION_INITIALIZER;
  EXPECT_EQ(rondoReduceScatterCompressed(data.data(), data.data(), 100, rondoFloat32, rondoSum,
                                         &how, comms[0], nullptr),
            rondoNotSupported);
  EXPECT_THAT(rondoGetLastError(comms[0]), HasSubstr("has 260 bytes, more than a slot's 128"));
}

/// Two ranks that compress differently, in threads of streams, since each waits for the other.
void expectMismatch(const CompressedCall& one,
                    const CompressedCall& other,
                    const std::string& text) {
  const Communicators comms(settingsOf(2));
  std::vector<std::vector<float>> data(2, std::vector<float>(one.count));
  std::vector<Stream> streams(2);
  const CompressedCall* const calls[] = {&one, &other};
  for (std::size_t rank = 0; rank < 2; ++rank) {
    ASSERT_EQ(issue(*calls[rank], data[rank].data(), data[rank].data(), howOf(*calls[rank]),
                    comms[static_cast<int>(rank)], streams[rank]),
              rondoSuccess);
  }
  for (const Stream& stream : streams) {
    EXPECT_EQ(rondoStreamSynchronize(stream), rondoMismatch);
    EXPECT_THAT(rondoGetLastError(nullptr), HasSubstr(text));
  }
}

TEST(Compressed, RanksThatCompressDifferentlyAreTold) {
  const CompressedCall call{.count = 2000};
  CompressedCall codec = call;
  codec.codec = Codec::kBfloat16;
  expectMismatch(call, codec, "compressed bf16");
  CompressedCall blocks = call;
  blocks.blockElems = 512;
  expectMismatch(call, blocks, "with other blocks or tensors");
  CompressedCall tensors = call;
  tensors.tensors = {1000, 1000};
  expectMismatch(call, tensors, "with other blocks or tensors");
}

}  // namespace
}  // namespace rondo::testing
