// Compressed collectives on emulated GPUs, by the C API: the bits and the reports of host
// communicators, which tests/collective/compressed_test.cc holds to their definition.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/schedule.h"
#include "kernels/codec.h"
#include "rondo/rondo.h"
#include "src/cuda/driver.h"
#include "tests/collective/communicators.h"
#include "tests/collective/compressed_call.h"
#include "tests/cuda/device_checks.h"
#include "tests/cuda/device_team.h"
#include "tests/cuda/driver_double/controls.h"

namespace rondo::testing {
namespace {

using cuda::Stream;
using ::testing::HasSubstr;

/// Of pairs of codec and type: sanitizers take long.
constexpr int kOneIn = kThinning > 1 ? 7 : 1;

/// Those of the host to compare with.
/// @param config that of the device's; its slots and channels count
CommunicatorSettings onHost(std::size_t ranks,
                            const rondoConfig_t& config = RONDO_CONFIG_INITIALIZER) {
  CommunicatorSettings settings;
  settings.ranks = static_cast<int>(ranks);
  if (config.channels != RONDO_UNDEFINED) settings.channels = static_cast<int>(config.channels);
  if (config.chunkBytes != RONDO_UNDEFINED)
    settings.chunkBytes = static_cast<std::size_t>(config.chunkBytes);
  return settings;
}

/// Memory of the current device for `bytes` bytes, at whose end nobody may write.
class DeviceBytes {
 public:
  explicit DeviceBytes(std::size_t bytes) : bytes_(bytes), floats_(bytes / sizeof(float) + 2) {
    floats_.fill(-1.0F);
  }

  explicit DeviceBytes(const Bytes& content) : DeviceBytes(content.size()) {
    std::ranges::copy(content, data());
  }

  std::byte* data() { return reinterpret_cast<std::byte*>(floats_.data()); }

  Bytes content() {
    EXPECT_EQ(floats_.values().back(), -1.0F) << "written behind the end";
    return {data(), data() + bytes_};
  }

 private:
  std::size_t bytes_;
  DeviceFloats floats_;
};

/// @param feedbacks one per rank; empty: none
CompressedOutcome runOnDevices(Team& team,
                               const CompressedCall& call,
                               const std::vector<Bytes>& inputs,
                               const std::vector<rondoErrorFeedback_t>& feedbacks = {}) {
  const auto ranks = static_cast<std::size_t>(team.ranks());
  CompressedOutcome outcome(ranks);
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    const auto place = static_cast<std::size_t>(rank);
    DeviceBytes send(inputs[place]);
    DeviceBytes recv(call.recvBytes(ranks));
    DeviceBytes& target = call.inPlace ? send : recv;
    rondoCompression_t how = howOf(call);
    how.report = &outcome.reports[place];
    if (!feedbacks.empty()) how.feedback = feedbacks[place];
    EXPECT_EQ(issue(call, send.data(), target.data(), how, comm, stream), rondoSuccess)
        << rondoGetLastError(comm);
    EXPECT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
    outcome.recv[place] = target.content();
  });
  return outcome;
}

/// An error feedback per rank.
class Feedbacks {
 public:
  explicit Feedbacks(std::size_t ranks) : handles_(ranks) {
    for (rondoErrorFeedback_t& handle : handles_)
      EXPECT_EQ(rondoErrorFeedbackCreate(&handle), rondoSuccess);
  }

  ~Feedbacks() {
    for (const rondoErrorFeedback_t handle : handles_)
      EXPECT_EQ(rondoErrorFeedbackDestroy(handle), rondoSuccess);
  }

  Feedbacks(const Feedbacks&) = delete;
  Feedbacks& operator=(const Feedbacks&) = delete;
  Feedbacks(Feedbacks&&) = delete;
  Feedbacks& operator=(Feedbacks&&) = delete;

  const std::vector<rondoErrorFeedback_t>& handles() const { return handles_; }

 private:
  std::vector<rondoErrorFeedback_t> handles_;
};

/// Random values, some blocks of zeros, and an outlier.
std::vector<Bytes> inputsOf(const CompressedCall& call, std::size_t ranks) {
  std::vector<Bytes> inputs;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::mt19937 random(static_cast<unsigned>(100 + rank));
    std::normal_distribution<float> normal;
    std::vector<float> values(call.sendElems(ranks));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = std::ldexp(normal(random), static_cast<int>(random() % 5) - 2);
      if (i / 64 % 7 == 3) values[i] = 0;
      if (i == 200) values[i] = 100;
    }
    inputs.push_back(narrowed(call.type, values));
  }
  return inputs;
}

bool same(const rondoCompressionReport_t& a, const rondoCompressionReport_t& b) {
  return a.wireBytes == b.wireBytes && a.plainBytes == b.plainBytes && a.nonFinite == b.nonFinite &&
         a.feedbackReset == b.feedbackReset;
}

void expectAsOnHost(Team& team, const Communicators& host, const CompressedCall& call) {
  SCOPED_TRACE(::testing::Message() << call << " ranks " << team.ranks());
  const auto ranks = static_cast<std::size_t>(team.ranks());
  const std::vector<Bytes> inputs = inputsOf(call, ranks);
  const CompressedOutcome expected = runCompressed(call, host, inputs);
  const CompressedOutcome outcome = runOnDevices(team, call, inputs);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    EXPECT_TRUE(outcome.recv[rank] == expected.recv[rank]) << "rank " << rank;
    EXPECT_TRUE(same(outcome.reports[rank], expected.reports[rank]))
        << "rank " << rank << " wire bytes " << outcome.reports[rank].wireBytes << " and "
        << expected.reports[rank].wireBytes << " nonFinite " << outcome.reports[rank].nonFinite;
  }
}

class DeviceCompressed : public ::testing::TestWithParam<std::vector<int>> {};

TEST_P(DeviceCompressed, EveryCodecAndTypeGivesTheBitsOfTheHost) {
  constexpr DataType kTypes[] = {DataType::kFloat32,  DataType::kFloat64,    DataType::kFloat16,
                                 DataType::kBfloat16, DataType::kFloat8E4m3, DataType::kFloat8E5m2};
  Team team(GetParam());
  const Communicators host(onHost(GetParam().size()));
  int number = 0;
  for (const Collective collective : kCompressedCollectives) {
    for (const Codec codec : kAllCodecs) {
      for (const DataType type : kTypes) {
        if (number++ % kOneIn != 0) continue;
        CompressedCall call{.collective = collective, .codec = codec, .type = type, .count = 700};
        if (isReduction(collective)) call.op = ReduceOp::kAvg;
        expectAsOnHost(team, host, call);
      }
    }
  }
}

TEST_P(DeviceCompressed, EverySizeAndTensor) {
  Team team(GetParam());
  const std::size_t ranks = GetParam().size();
  const Communicators host(onHost(ranks));
  for (const Collective collective : kCompressedCollectives) {
    for (const std::size_t count : {0U, 1U, 16U, 257U, 5000U, 40000U}) {
      CompressedCall call{.collective = collective, .count = count};
      expectAsOnHost(team, host, call);
      call.blockElems = 48;
      call.tensors = unevenTensors(collective == Collective::kAllReduce ? count : count * ranks);
      expectAsOnHost(team, host, call);
    }
  }
  expectAsOnHost(team, host, {.count = 3000, .inPlace = true});
}

INSTANTIATE_TEST_SUITE_P(Devices,
                         DeviceCompressed,
                         ::testing::Values(std::vector<int>{0, 1},
                                           std::vector<int>{0, 1, 2},
                                           std::vector<int>{0, 0, 0},
                                           std::vector<int>{0, 1, 0, 1}));

/// Many loops, several channels, and blocks of the largest size.
TEST(DeviceCompression, DoesNotDependOnSlotsAndChannels) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.chunkBytes = 4160;
  config.channels = 3;
  config.logLevel = "error";
  Team team({0, 1, 2}, &config);
  const Communicators host(onHost(3, config));
  for (const Collective collective : kCompressedCollectives) {
    for (const std::size_t blockElems : {16U, 256U, 4096U})
      expectAsOnHost(team, host,
                     {.collective = collective, .count = 9001, .blockElems = blockElems});
  }
}

TEST(DeviceCompression, GoesWithoutPeerAccessThroughTheHost) {
  rondoDoublePeerAccess(0);
  {
    Team team({0, 1});
    expectAsOnHost(team, Communicators(onHost(2)), {.count = 3000});
  }
  rondoDoublePeerAccess(1);
}

TEST(DeviceCompression, NonFiniteIsReportedOnEveryRank) {
  Team team({0, 1, 2});
  for (const Collective collective : kCompressedCollectives) {
    for (const Codec codec : kAllCodecs) {
      for (const float value : {std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::quiet_NaN(), 9.0F}) {
        const CompressedCall call{.collective = collective, .codec = codec, .count = 600};
        SCOPED_TRACE(::testing::Message() << call << " with " << value);
        std::vector<float> ones(call.sendElems(3), 1.0F);
        std::vector<Bytes> inputs(3, narrowed(call.type, ones));
        ones[ones.size() / 2] = value;
        inputs[1] = narrowed(call.type, ones);
        for (const rondoCompressionReport_t& report : runOnDevices(team, call, inputs).reports)
          EXPECT_EQ(report.nonFinite, std::isfinite(value) ? 0 : 1);
      }
    }
  }
}

/// Without a report a call returns when it is queued, and others may follow.
TEST(DeviceCompression, CallsWithoutAReportFollowEachOther) {
  Team team({0, 1});
  const CompressedCall call{.count = 4000};
  const std::vector<Bytes> inputs = inputsOf(call, 2);
  const CompressedOutcome expected = runCompressed(call, Communicators(onHost(2)), inputs);
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    const auto place = static_cast<std::size_t>(rank);
    DeviceBytes send(inputs[place]);
    DeviceBytes first(call.recvBytes(2));
    DeviceBytes last(call.recvBytes(2));
    DeviceFloats plain(1000);
    plain.fill(1.0F);
    for (DeviceBytes* recv : {&first, &last}) {
      EXPECT_EQ(issue(call, send.data(), recv->data(), howOf(call), comm, stream), rondoSuccess);
      EXPECT_EQ(
          rondoAllReduce(plain.data(), plain.data(), 1000, rondoFloat32, rondoSum, comm, stream),
          rondoSuccess);
    }
    EXPECT_EQ(driver().streamSynchronize(stream), cuda::kSuccess);
    EXPECT_TRUE(first.content() == expected.recv[place]);
    EXPECT_TRUE(last.content() == expected.recv[place]);
    EXPECT_EQ(plain.values(), std::vector<float>(1000, 4.0F));
  });
}

// Error feedback.

/// Runs the calls one after the other, each with the feedback that the ones before have left.
void expectFeedbackAsOnHost(Team& team,
                            const Communicators& host,
                            const std::vector<CompressedCall>& calls) {
  const auto ranks = static_cast<std::size_t>(team.ranks());
  const Feedbacks hostFeedbacks(ranks);
  const Feedbacks onDevices(ranks);
  for (std::size_t step = 0; step < calls.size(); ++step) {
    SCOPED_TRACE(::testing::Message() << "step " << step << " " << calls[step]);
    const std::vector<Bytes> inputs = inputsOf(calls[step], ranks);
    const CompressedOutcome expected =
        runCompressed(calls[step], host, inputs, hostFeedbacks.handles());
    const CompressedOutcome outcome = runOnDevices(team, calls[step], inputs, onDevices.handles());
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      EXPECT_TRUE(outcome.recv[rank] == expected.recv[rank]) << "rank " << rank;
      EXPECT_TRUE(same(outcome.reports[rank], expected.reports[rank])) << "rank " << rank;
    }
  }
  for (std::size_t rank = 0; rank < ranks; ++rank)
    EXPECT_TRUE(savedOf(onDevices.handles()[rank]) == savedOf(hostFeedbacks.handles()[rank]))
        << "residuals of rank " << rank;
}

TEST_P(DeviceCompressed, FeedbackAddsWhatTheHostsDoes) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.chunkBytes = 4160;
  config.channels = 2;
  config.logLevel = "error";
  Team team(GetParam(), &config);
  const Communicators host(onHost(GetParam().size(), config));
  for (const Collective collective : kCompressedCollectives) {
    for (const Codec codec : {Codec::kInt8, Codec::kFloat8E4m3, Codec::kBfloat16}) {
      const CompressedCall call{.collective = collective, .codec = codec, .count = 9001};
      CompressedCall other = call;
      other.count = 800;
      other.type = DataType::kFloat16;
      expectFeedbackAsOnHost(team, host, {call, call, call, other, other, call, call});
    }
  }
}

TEST(DeviceFeedback, IsForgottenAfterAResultThatIsNotFinite) {
  Team team({0, 1});
  const CompressedCall call{.count = 400};
  const std::vector<Bytes> inputs = inputsOf(call, 2);
  const Feedbacks feedbacks(2);
  const auto run = [&](const std::vector<Bytes>& from) {
    return runOnDevices(team, call, from, feedbacks.handles());
  };
  const CompressedOutcome first = run(inputs);
  EXPECT_FALSE(run(inputs).recv[0] == first.recv[0]) << "feedback changes something";
  std::vector<Bytes> broken = inputs;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(broken[1].data() + 80, &nan, sizeof nan);
  for (const rondoCompressionReport_t& report : run(broken).reports) {
    EXPECT_EQ(report.nonFinite, 1);
    EXPECT_EQ(report.feedbackReset, 1);
  }
  EXPECT_TRUE(run(inputs).recv[0] == first.recv[0]) << "as from the beginning";
  for (const rondoErrorFeedback_t feedback : feedbacks.handles())
    EXPECT_EQ(rondoErrorFeedbackReset(feedback), rondoSuccess);
  EXPECT_TRUE(run(inputs).recv[1] == first.recv[1]);
}

TEST(DeviceFeedback, GoesOnFromWhatWasSaved) {
  Team team({0, 1});
  const CompressedCall call{.count = 700};
  const std::vector<Bytes> inputs = inputsOf(call, 2);
  const Feedbacks original(2);
  const Feedbacks copies(2);
  for (int step = 0; step < 3; ++step)
    runOnDevices(team, call, inputs, original.handles());
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const Bytes saved = savedOf(original.handles()[rank]);
    ASSERT_EQ(rondoErrorFeedbackLoad(copies.handles()[rank], saved.data(), saved.size()),
              rondoSuccess);
  }
  const CompressedOutcome resumed = runOnDevices(team, call, inputs, copies.handles());
  EXPECT_EQ(resumed.reports[0].feedbackReset, 0);
  EXPECT_TRUE(resumed.recv[1] == runOnDevices(team, call, inputs, original.handles()).recv[1]);
  EXPECT_FALSE(resumed.recv[1] == runOnDevices(team, call, inputs).recv[1]);
}

/// The mean of T results errs by a constant over T.
TEST(DeviceFeedback, TheMeanOfManyStepsConvergesToTheExactOne) {
  constexpr int kSteps = 100;
  Team team({0, 1});
  const CompressedCall call{.op = ReduceOp::kAvg, .count = 300};
  const std::vector<Bytes> inputs = inputsOf(call, 2);
  const Feedbacks feedbacks(2);
  std::vector<double> exact(call.count);
  std::vector<double> sum(call.count);
  double peak = 0;
  const auto at = [](const Bytes& bytes, std::size_t i) {
    float value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return static_cast<double>(value);
  };
  for (std::size_t i = 0; i < call.count; ++i) {
    exact[i] = (at(inputs[0], i) + at(inputs[1], i)) / 2;
    peak = std::max({peak, std::fabs(at(inputs[0], i)), std::fabs(at(inputs[1], i))});
  }
  for (int step = 0; step < kSteps; ++step) {
    const CompressedOutcome outcome = runOnDevices(team, call, inputs, feedbacks.handles());
    for (std::size_t i = 0; i < call.count; ++i)
      sum[i] += at(outcome.recv[0], i);
  }
  // Residuals of half a scale at both roundings, by which peaks grow.
  const double bound = 2 * (peak / 127) * 1.01 / kSteps + 1e-5;
  for (std::size_t i = 0; i < call.count; ++i)
    EXPECT_NEAR(sum[i] / kSteps, exact[i], bound) << i;
}

// What can be wrong.

TEST(DeviceCompressionErrors, ARankWithoutAFeedbackIsAMismatch) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.operationTimeoutMs = 20000;
  config.logLevel = "error";
  Team team({0, 1}, &config);
  const Feedbacks feedbacks(1);
  team.run([&](int rank, rondoComm_t comm, Stream stream) {
    DeviceFloats values(8);
    rondoCompression_t how = RONDO_COMPRESSION_INITIALIZER;
    how.feedback = rank == 0 ? feedbacks.handles()[0] : nullptr;
    EXPECT_EQ(rondoAllReduceCompressed(values.data(), values.data(), 8, rondoFloat32, rondoSum,
                                       &how, comm, stream),
              rondoMismatch);
  });
}

TEST(DeviceCompressionErrors, AnotherCodecOfAPeerIsAMismatch) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.operationTimeoutMs = 20000;
  config.logLevel = "error";
  for (const std::vector<int>& devices : {std::vector<int>{0, 1}, std::vector<int>{0, 0}}) {
    Team team(devices, &config);
    team.run([&](int rank, rondoComm_t comm, Stream stream) {
      DeviceFloats values(800);
      values.fill(1.0F);
      rondoCompression_t how = RONDO_COMPRESSION_INITIALIZER;
      rondoCompressionReport_t report = {};
      how.report = &report;
      how.codec = rank == 0 ? rondoCodecInt8 : rondoCodecFloat16;
      EXPECT_EQ(rondoAllReduceCompressed(values.data(), values.data(), 800, rondoFloat32, rondoSum,
                                         &how, comm, stream),
                rondoMismatch)
          << rondoGetLastError(comm);
    });
  }
}

void expectPeerLost(bool withFeedback) {
  SCOPED_TRACE(withFeedback ? "with a feedback" : "with a report");
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.operationTimeoutMs = 20000;
  config.logLevel = "error";
  const std::vector<int> devices = {0, 1};
  const Feedbacks feedbacks(2);
  std::vector<rondoComm_t> comms(2);
  ASSERT_EQ(rondoCommInitAllOnDevices(comms.data(), 2, devices.data(), &config), rondoSuccess);
  const auto sum = [&](int rank) {
    const OnDevice on(rank);
    TestStream stream;
    DeviceFloats values(800);
    values.fill(1.0F);
    rondoCompression_t how = RONDO_COMPRESSION_INITIALIZER;
    rondoCompressionReport_t report = {};
    how.report = &report;
    if (withFeedback) how.feedback = feedbacks.handles()[static_cast<std::size_t>(rank)];
    return rondoAllReduceCompressed(values.data(), values.data(), 800, rondoFloat32, rondoSum, &how,
                                    comms[static_cast<std::size_t>(rank)], stream.get());
  };
  std::thread other([&] {
    EXPECT_EQ(sum(0), rondoSuccess);
    EXPECT_EQ(rondoCommDestroy(comms[0]), rondoSuccess);
  });
  EXPECT_EQ(sum(1), rondoSuccess);
  other.join();
  EXPECT_EQ(sum(1), rondoPeerLost) << rondoGetLastError(comms[1]);
  EXPECT_EQ(rondoCommDestroy(comms[1]), rondoSuccess);
}

/// Found by the kernel, or where the ranks meet before they launch.
TEST(DeviceCompressionErrors, APeerThatHasLeftIsNamed) {
  for (const bool withFeedback : {false, true})
    expectPeerLost(withFeedback);
}

TEST(DeviceCompressionErrors, AReportCannotBeCaptured) {
  Team team({0, 1});
  team.run([&](int /*rank*/, rondoComm_t comm, Stream stream) {
    DeviceFloats values(80);
    values.fill(1.0F);
    rondoCompressionReport_t report = {};
    rondoCompression_t how = RONDO_COMPRESSION_INITIALIZER;
    how.report = &report;
    const auto sum = [&] {
      return rondoAllReduceCompressed(values.data(), values.data(), 80, rondoFloat32, rondoSum,
                                      &how, comm, stream);
    };
    EXPECT_EQ(sum(), rondoSuccess);
    rondoDoubleBeginCapture(stream);
    EXPECT_EQ(sum(), rondoNotSupported);
    EXPECT_THAT(rondoGetLastError(comm), HasSubstr("pass neither"));
    rondoDoubleEndCapture(stream);
  });
}

}  // namespace
}  // namespace rondo::testing
