// Compressed collectives on emulated GPUs, by the C API: the bits and the reports of host
// communicators, which tests/collective/compressed_test.cc holds to their definition.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/schedule.h"
#include "kernels/codec.h"
#include "kernels/host/float_blocks.h"
#include "rondo/rondo.h"
#include "src/cuda/driver.h"
#include "tests/cuda/device_checks.h"
#include "tests/cuda/device_team.h"
#include "tests/cuda/driver_double/controls.h"

namespace rondo::testing {
namespace {

using cuda::Stream;
using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

constexpr Codec kAllCodecs[] = {
#define RONDO_VALUE(name, codeBytes, scaleBytes, text) Codec::k##name,
    RONDO_FOR_EACH_CODEC(RONDO_VALUE)
#undef RONDO_VALUE
};

/// Of pairs of codec and type: sanitizers take long.
constexpr int kOneIn = kThinning > 1 ? 7 : 1;

constexpr Collective kCollectives[] = {Collective::kAllReduce, Collective::kReduceScatter,
                                       Collective::kAllGather};

/// One compressed call of all ranks.
struct Call {
  Collective collective = Collective::kAllReduce;
  Codec codec = Codec::kInt8;
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  std::size_t count = 0;
  std::size_t blockElems = kDefaultBlockElems;
  std::vector<std::size_t> tensors{};
  bool inPlace = false;  ///< all-reduce only

  std::size_t sendBytes(std::size_t ranks) const {
    return elementBytes(type) * count * (collective == Collective::kReduceScatter ? ranks : 1);
  }

  std::size_t recvBytes(std::size_t ranks) const {
    return elementBytes(type) * count * (collective == Collective::kAllGather ? ranks : 1);
  }
};

std::ostream& operator<<(std::ostream& out, const Call& call) {
  return out << collectiveName(call.collective) << " " << codecName(call.codec) << " "
             << dataTypeName(call.type) << " " << reduceOpName(call.op) << " count " << call.count
             << " blocks of " << call.blockElems << " tensors " << call.tensors.size();
}

/// What came of a call, by rank.
struct Outcome {
  explicit Outcome(std::size_t ranks) : recv(ranks), reports(ranks, {7, 7, 7, 7}) {}

  std::vector<Bytes> recv;
  std::vector<rondoCompressionReport_t> reports;
};

rondoCompression_t howOf(const Call& call) {
  rondoCompression_t how = RONDO_COMPRESSION_INITIALIZER;
  how.codec = static_cast<rondoCodec_t>(call.codec);
  how.blockElems = static_cast<std::int64_t>(call.blockElems);
  how.tensorCounts = call.tensors.empty() ? nullptr : call.tensors.data();
  how.tensors = call.tensors.size();
  return how;
}

rondoResult_t issue(const Call& call,
                    const void* send,
                    void* recv,
                    const rondoCompression_t& how,
                    rondoComm_t comm,
                    rondoStream_t stream) {
  const auto type = static_cast<rondoDataType_t>(call.type);
  const auto op = static_cast<rondoRedOp_t>(call.op);
  if (call.collective == Collective::kAllReduce)
    return rondoAllReduceCompressed(send, recv, call.count, type, op, &how, comm, stream);
  if (call.collective == Collective::kReduceScatter)
    return rondoReduceScatterCompressed(send, recv, call.count, type, op, &how, comm, stream);
  return rondoAllGatherCompressed(send, recv, call.count, type, &how, comm, stream);
}

/// By host communicators.
class HostTeam {
 public:
  explicit HostTeam(std::size_t ranks, const rondoConfig_t* config = nullptr) : comms_(ranks) {
    EXPECT_EQ(rondoCommInitAll(comms_.data(), static_cast<int>(ranks), config), rondoSuccess);
  }

  ~HostTeam() {
    for (const rondoComm_t comm : comms_)
      EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
  }

  HostTeam(const HostTeam&) = delete;
  HostTeam& operator=(const HostTeam&) = delete;
  HostTeam(HostTeam&&) = delete;
  HostTeam& operator=(HostTeam&&) = delete;

  /// @param feedbacks one per rank; empty: none
  Outcome run(const Call& call,
              const std::vector<Bytes>& inputs,
              const std::vector<rondoErrorFeedback_t>& feedbacks = {}) const {
    const std::size_t ranks = comms_.size();
    Outcome outcome(ranks);
    EXPECT_EQ(rondoGroupStart(), rondoSuccess);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      outcome.recv[rank].resize(call.recvBytes(ranks) + 1);
      rondoCompression_t how = howOf(call);
      how.report = &outcome.reports[rank];
      if (!feedbacks.empty()) how.feedback = feedbacks[rank];
      EXPECT_EQ(
          issue(call, inputs[rank].data(), outcome.recv[rank].data(), how, comms_[rank], nullptr),
          rondoSuccess);
    }
    EXPECT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(nullptr);
    for (Bytes& recv : outcome.recv)
      recv.resize(call.recvBytes(ranks));
    return outcome;
  }

 private:
  std::vector<rondoComm_t> comms_;
};

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

/// @param feedbacks as HostTeam::run()
Outcome runOnDevices(Team& team,
                     const Call& call,
                     const std::vector<Bytes>& inputs,
                     const std::vector<rondoErrorFeedback_t>& feedbacks = {}) {
  const auto ranks = static_cast<std::size_t>(team.ranks());
  Outcome outcome(ranks);
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

  Bytes save(std::size_t rank) const {
    std::size_t size = 0;
    EXPECT_EQ(rondoErrorFeedbackSave(handles_[rank], nullptr, 0, &size), rondoSuccess);
    Bytes bytes(size);
    EXPECT_EQ(rondoErrorFeedbackSave(handles_[rank], bytes.data(), bytes.size(), &size),
              rondoSuccess);
    return bytes;
  }

 private:
  std::vector<rondoErrorFeedback_t> handles_;
};

Bytes narrowed(DataType type, const std::vector<float>& values) {
  const host::FloatForm form(type, host::SimdTarget::kScalar);
  Bytes elements(values.size() * form.elemBytes());
  form.narrow(values.data(), values.size(), elements.data());
  return elements;
}

/// Random values, some blocks of zeros, and an outlier.
std::vector<Bytes> inputsOf(const Call& call, std::size_t ranks) {
  std::vector<Bytes> inputs;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::mt19937 random(static_cast<unsigned>(100 + rank));
    std::normal_distribution<float> normal;
    std::vector<float> values(call.sendBytes(ranks) / elementBytes(call.type));
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

void expectAsOnHost(Team& team, const HostTeam& host, const Call& call) {
  SCOPED_TRACE(::testing::Message() << call << " ranks " << team.ranks());
  const auto ranks = static_cast<std::size_t>(team.ranks());
  const std::vector<Bytes> inputs = inputsOf(call, ranks);
  const Outcome expected = host.run(call, inputs);
  const Outcome outcome = runOnDevices(team, call, inputs);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    EXPECT_TRUE(outcome.recv[rank] == expected.recv[rank]) << "rank " << rank;
    EXPECT_TRUE(same(outcome.reports[rank], expected.reports[rank]))
        << "rank " << rank << " wire bytes " << outcome.reports[rank].wireBytes << " and "
        << expected.reports[rank].wireBytes << " nonFinite " << outcome.reports[rank].nonFinite;
  }
}

/// `elems` elements in tensors of uneven sizes, empty ones among them.
std::vector<std::size_t> unevenTensors(std::size_t elems) {
  std::vector<std::size_t> tensors;
  for (std::size_t next = 1; elems > 0; next = next * 3 % 601) {
    const std::size_t size = std::min(elems, next);
    tensors.push_back(size);
    if (size % 2 == 0) tensors.push_back(0);
    elems -= size;
  }
  return tensors;
}

class DeviceCompressed : public ::testing::TestWithParam<std::vector<int>> {};

TEST_P(DeviceCompressed, EveryCodecAndTypeGivesTheBitsOfTheHost) {
  constexpr DataType kTypes[] = {DataType::kFloat32,  DataType::kFloat64,    DataType::kFloat16,
                                 DataType::kBfloat16, DataType::kFloat8E4m3, DataType::kFloat8E5m2};
  Team team(GetParam());
  const HostTeam host(GetParam().size());
  int number = 0;
  for (const Collective collective : kCollectives) {
    for (const Codec codec : kAllCodecs) {
      for (const DataType type : kTypes) {
        if (number++ % kOneIn != 0) continue;
        Call call{.collective = collective, .codec = codec, .type = type, .count = 700};
        if (isReduction(collective)) call.op = ReduceOp::kAvg;
        expectAsOnHost(team, host, call);
      }
    }
  }
}

TEST_P(DeviceCompressed, EverySizeAndTensor) {
  Team team(GetParam());
  const std::size_t ranks = GetParam().size();
  const HostTeam host(ranks);
  for (const Collective collective : kCollectives) {
    for (const std::size_t count : {0U, 1U, 16U, 257U, 5000U, 40000U}) {
      Call call{.collective = collective, .count = count};
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
  const HostTeam host(3, &config);
  for (const Collective collective : kCollectives) {
    for (const std::size_t blockElems : {16U, 256U, 4096U})
      expectAsOnHost(team, host,
                     {.collective = collective, .count = 9001, .blockElems = blockElems});
  }
}

TEST(DeviceCompression, GoesWithoutPeerAccessThroughTheHost) {
  rondoDoublePeerAccess(0);
  {
    Team team({0, 1});
    expectAsOnHost(team, HostTeam(2), {.count = 3000});
  }
  rondoDoublePeerAccess(1);
}

TEST(DeviceCompression, NonFiniteIsReportedOnEveryRank) {
  Team team({0, 1, 2});
  for (const Collective collective : kCollectives) {
    for (const Codec codec : kAllCodecs) {
      for (const float value : {std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::quiet_NaN(), 9.0F}) {
        const Call call{.collective = collective, .codec = codec, .count = 600};
        SCOPED_TRACE(::testing::Message() << call << " with " << value);
        std::vector<float> ones(call.sendBytes(3) / sizeof(float), 1.0F);
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
  const Call call{.count = 4000};
  const std::vector<Bytes> inputs = inputsOf(call, 2);
  const Outcome expected = HostTeam(2).run(call, inputs);
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
void expectFeedbackAsOnHost(Team& team, const HostTeam& host, const std::vector<Call>& calls) {
  const auto ranks = static_cast<std::size_t>(team.ranks());
  const Feedbacks onHost(ranks);
  const Feedbacks onDevices(ranks);
  for (std::size_t step = 0; step < calls.size(); ++step) {
    SCOPED_TRACE(::testing::Message() << "step " << step << " " << calls[step]);
    const std::vector<Bytes> inputs = inputsOf(calls[step], ranks);
    const Outcome expected = host.run(calls[step], inputs, onHost.handles());
    const Outcome outcome = runOnDevices(team, calls[step], inputs, onDevices.handles());
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      EXPECT_TRUE(outcome.recv[rank] == expected.recv[rank]) << "rank " << rank;
      EXPECT_TRUE(same(outcome.reports[rank], expected.reports[rank])) << "rank " << rank;
    }
  }
  for (std::size_t rank = 0; rank < ranks; ++rank)
    EXPECT_TRUE(onDevices.save(rank) == onHost.save(rank)) << "residuals of rank " << rank;
}

TEST_P(DeviceCompressed, FeedbackAddsWhatTheHostsDoes) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.chunkBytes = 4160;
  config.channels = 2;
  config.logLevel = "error";
  Team team(GetParam(), &config);
  const HostTeam host(GetParam().size(), &config);
  for (const Collective collective : kCollectives) {
    for (const Codec codec : {Codec::kInt8, Codec::kFloat8E4m3, Codec::kBfloat16}) {
      const Call call{.collective = collective, .codec = codec, .count = 9001};
      Call other = call;
      other.count = 800;
      other.type = DataType::kFloat16;
      expectFeedbackAsOnHost(team, host, {call, call, call, other, other, call, call});
    }
  }
}

TEST(DeviceFeedback, IsForgottenAfterAResultThatIsNotFinite) {
  Team team({0, 1});
  const Call call{.count = 400};
  const std::vector<Bytes> inputs = inputsOf(call, 2);
  const Feedbacks feedbacks(2);
  const auto run = [&](const std::vector<Bytes>& from) {
    return runOnDevices(team, call, from, feedbacks.handles());
  };
  const Outcome first = run(inputs);
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
  const Call call{.count = 700};
  const std::vector<Bytes> inputs = inputsOf(call, 2);
  const Feedbacks original(2);
  const Feedbacks copies(2);
  for (int step = 0; step < 3; ++step)
    runOnDevices(team, call, inputs, original.handles());
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const Bytes saved = original.save(rank);
    ASSERT_EQ(rondoErrorFeedbackLoad(copies.handles()[rank], saved.data(), saved.size()),
              rondoSuccess);
  }
  const Outcome resumed = runOnDevices(team, call, inputs, copies.handles());
  EXPECT_EQ(resumed.reports[0].feedbackReset, 0);
  EXPECT_TRUE(resumed.recv[1] == runOnDevices(team, call, inputs, original.handles()).recv[1]);
  EXPECT_FALSE(resumed.recv[1] == runOnDevices(team, call, inputs).recv[1]);
}

/// The mean of T results errs by a constant over T.
TEST(DeviceFeedback, TheMeanOfManyStepsConvergesToTheExactOne) {
  constexpr int kSteps = 100;
  Team team({0, 1});
  const Call call{.op = ReduceOp::kAvg, .count = 300};
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
    const Outcome outcome = runOnDevices(team, call, inputs, feedbacks.handles());
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

TEST(DeviceCompressionErrors, APeerThatHasLeftIsNamed) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.operationTimeoutMs = 20000;
  config.logLevel = "error";
  const std::vector<int> devices = {0, 1};
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
