// Settings: where they come from, and what they take.
#include "src/config.h"

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace rondo {
namespace {

using std::chrono::milliseconds;

Status failureOf(const Environment& environment) {
  return loadConfig(nullptr, environment).status();
}

Config load(const Environment& environment) {
  Result<Config> config = loadConfig(nullptr, environment);
  EXPECT_TRUE(config.ok()) << config.status().message();
  return *std::move(config);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST(Config, DefaultsWithoutWishes) {
  const Config config = load({});
  EXPECT_EQ(config.name, "world");
  EXPECT_TRUE(config.algorithms.empty());
  EXPECT_EQ(config.tuning, nullptr);
  EXPECT_FALSE(config.reproducible);
  EXPECT_EQ(config.channels, 0);
  EXPECT_EQ(config.workers, 0);
  EXPECT_EQ(config.chunkBytes, 0u);
  EXPECT_EQ(config.slotsPerConnection, 0);
  EXPECT_EQ(config.slotMemoryBytes, 33554432u);
  EXPECT_EQ(config.operationTimeout, milliseconds(1800000));
  EXPECT_EQ(config.warningAfter, milliseconds(30000));
  EXPECT_EQ(config.log.level, LogLevel::kWarn);
  EXPECT_TRUE(config.chosen.empty());
}

TEST(Config, TheTablesDefaultsAreTheRealOnes) {
  for (const Setting& setting : allSettings()) {
    if (setting.defaultText.empty()) continue;
    const Config config = load({{std::string(setting.variable), std::string(setting.defaultText)}});
    const Config untouched;
    EXPECT_EQ(config.name, untouched.name);
    EXPECT_EQ(config.reproducible, untouched.reproducible);
    EXPECT_EQ(config.channels, untouched.channels);
    EXPECT_EQ(config.workers, untouched.workers);
    EXPECT_EQ(config.chunkBytes, untouched.chunkBytes);
    EXPECT_EQ(config.slotsPerConnection, untouched.slotsPerConnection);
    EXPECT_EQ(config.slotMemoryBytes, untouched.slotMemoryBytes);
    EXPECT_EQ(config.operationTimeout, untouched.operationTimeout);
    EXPECT_EQ(config.warningAfter, untouched.warningAfter);
    EXPECT_EQ(config.log.level, untouched.log.level);
  }
}

TEST(Config, EveryVariableIsRead) {
  const std::string tuning = ::testing::TempDir() + "config_test_tuning.txt";
  std::ofstream(tuning) << "all_reduce 2 4096 ring 64 1.5\n";
  const Config config = load({{"RONDO_COMM_NAME", "tensor"},
                              {"RONDO_ALGORITHM", "all_reduce:ring,broadcast:tree"},
                              {"RONDO_TUNING_FILE", tuning},
                              {"RONDO_REPRODUCIBLE", "1"},
                              {"RONDO_CHANNELS", "4"},
                              {"RONDO_WORKERS", "6"},
                              {"RONDO_CHUNK_BYTES", "131072"},
                              {"RONDO_SLOTS_PER_CONNECTION", "8"},
                              {"RONDO_SLOT_MEMORY_BYTES", "1000000"},
                              {"RONDO_STORES", "streamed"},
                              {"RONDO_MAILBOX_BYTES", "512"},
                              {"RONDO_ZERO_COPY_BYTES", "4096"},
                              {"RONDO_OPERATION_TIMEOUT_MS", "0"},
                              {"RONDO_WARNING_MS", "250"},
                              {"RONDO_INIT_TIMEOUT_MS", "1500"},
                              {"RONDO_CONNECT_TIMEOUT_MS", "2500"},
                              {"RONDO_TRANSPORT", "tcp"},
                              {"RONDO_DEVICE", "3"},
                              {"RONDO_CUDA_PROTOCOL", "wide_lines"},
                              {"RONDO_BLOCKING", "0"},
                              {"RONDO_LOG_LEVEL", "debug"},
                              {"RONDO_LOG_FILE", "/tmp/%h.log"},
                              {"RONDO_INTERFACE", "eth*,ib0"},
                              {"RONDO_PORT", "5000-5100"},
                              {"RONDO_ADVERTISE", "10.0.0.1:4000"},
                              {"RONDO_HOST_ID", "blade-7"},
                              {"RONDO_IB_DEVICES", "^mlx5_3"},
                              {"RONDO_IB_GID_INDEX", "3"},
                              {"RONDO_IB_TRAFFIC_CLASS", "106"},
                              {"RONDO_IB_SERVICE_LEVEL", "2"},
                              {"RONDO_IB_TIMEOUT", "20"},
                              {"RONDO_IB_RETRIES", "0"},
                              {"RONDO_RANK", "0"},
                              {"RONDO_RANKS", "8"},
                              {"RONDO_ROOT", "node1:4000"},
                              {"RONDO_SECRET", "correct horse battery"},
                              {"RONDO_SECRET_FILE", "/run/secrets/job"}});
  EXPECT_EQ(config.name, "tensor");
  ASSERT_EQ(config.algorithms.size(), 2U);
  EXPECT_EQ(config.algorithms[0].algorithm, findAlgorithm(Collective::kAllReduce, "ring"));
  EXPECT_EQ(config.algorithms[1].algorithm, findAlgorithm(Collective::kBroadcast, "tree"));
  ASSERT_NE(config.tuning, nullptr);
  EXPECT_EQ(config.tuning->entries().size(), 1U);
  EXPECT_TRUE(config.reproducible);
  EXPECT_EQ(config.channels, 4);
  EXPECT_EQ(config.workers, 6);
  EXPECT_EQ(config.chunkBytes, 131072u);
  EXPECT_EQ(config.slotsPerConnection, 8);
  EXPECT_EQ(config.slotMemoryBytes, 1000000u);
  EXPECT_EQ(config.stores, host::StorePolicy::kStreamed);
  EXPECT_EQ(config.mailboxBytes, 512u);
  EXPECT_EQ(config.zeroCopyBytes, 4096u);
  EXPECT_FALSE(config.blocking);
  EXPECT_EQ(config.device, 3);
  EXPECT_EQ(config.cudaProtocol, device::Protocol::kWideLines);
  EXPECT_EQ(config.operationTimeout, milliseconds(0));
  EXPECT_EQ(config.warningAfter, milliseconds(250));
  EXPECT_EQ(config.initTimeout, milliseconds(1500));
  EXPECT_EQ(config.connectTimeout, milliseconds(2500));
  EXPECT_EQ(config.transports, std::vector<std::string_view>{"tcp"});
  EXPECT_EQ(config.log.level, LogLevel::kDebug);
  EXPECT_EQ(config.log.file, "/tmp/%h.log");
  EXPECT_EQ(config.meeting.interfaces, "eth*,ib0");
  EXPECT_EQ(config.meeting.portFirst, 5000);
  EXPECT_EQ(config.meeting.portLast, 5100);
  EXPECT_EQ(config.meeting.advertise, "10.0.0.1:4000");
  EXPECT_EQ(config.meeting.hostId, "blade-7");
  EXPECT_EQ(config.verbs.devices, "^mlx5_3");
  EXPECT_EQ(config.verbs.gidIndex, 3u);
  EXPECT_EQ(config.verbs.trafficClass, 106);
  EXPECT_EQ(config.verbs.serviceLevel, 2);
  EXPECT_EQ(config.verbs.timeout, 20);
  EXPECT_EQ(config.verbs.retries, 0);
  EXPECT_EQ(config.meeting.rank, 0);
  EXPECT_EQ(config.meeting.ranks, 8);
  EXPECT_EQ(config.meeting.root, "node1:4000");
  EXPECT_EQ(config.meeting.secret, "correct horse battery");
  EXPECT_EQ(config.meeting.secretFile, "/run/secrets/job");
  EXPECT_EQ(config.chosen.size(), allSettings().size());
  EXPECT_TRUE(config.unknownVariables.empty());
}

TEST(Config, TheEnvironmentOverrulesTheProgram) {
  rondoConfig_t requested = RONDO_CONFIG_INITIALIZER;
  requested.channels = 2;
  requested.warningMs = 10;
  const Result<Config> config = loadConfig(&requested, {{"RONDO_CHANNELS", "3"}});
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->channels, 3);
  EXPECT_EQ(config->warningAfter, milliseconds(10));
  ASSERT_EQ(config->chosen.size(), 2u);
  EXPECT_TRUE(config->chosen[0].fromEnvironment);
  EXPECT_EQ(config->chosen[0].overruled, "2");
  EXPECT_FALSE(config->chosen[1].fromEnvironment);
  EXPECT_FALSE(config->chosen[1].overruled.has_value());
}

TEST(Config, AnEmptyVariableIsNotSet) {
  EXPECT_EQ(load({{"RONDO_CHANNELS", ""}}).channels, 0);
}

TEST(Config, BadValuesNameTheVariableAndWhatItTakes) {
  for (const char* value : {"-1", "33", "2x", "x", " 2", "2.5", "99999999999999999999"}) {
    const Status status = failureOf({{"RONDO_CHANNELS", value}});
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << value;
    EXPECT_TRUE(contains(status.message(), "RONDO_CHANNELS")) << status.message();
    EXPECT_TRUE(contains(status.message(), "1 to 32")) << status.message();
  }
  EXPECT_FALSE(failureOf({{"RONDO_REPRODUCIBLE", "yes"}}).ok());
  EXPECT_FALSE(failureOf({{"RONDO_REPRODUCIBLE", "2"}}).ok());
  EXPECT_FALSE(failureOf({{"RONDO_CHUNK_BYTES", "100"}}).ok());
  EXPECT_FALSE(failureOf({{"RONDO_CHUNK_BYTES", "134217728"}}).ok());
  EXPECT_FALSE(failureOf({{"RONDO_SLOTS_PER_CONNECTION", "1"}}).ok());
  EXPECT_FALSE(failureOf({{"RONDO_LOG_LEVEL", "loud"}}).ok());
  EXPECT_FALSE(failureOf({{"RONDO_LOG_FILE", "%q"}}).ok());
  EXPECT_FALSE(failureOf({{"RONDO_COMM_NAME", "two words"}}).ok());
}

TEST(Config, BadAlgorithmsAreAnsweredWithTheGoodOnes) {
  const Status collective = failureOf({{"RONDO_ALGORITHM", "allreduce:ring"}});
  EXPECT_TRUE(contains(collective.message(), "all_reduce, reduce_scatter")) << collective.message();
  const Status algorithm = failureOf({{"RONDO_ALGORITHM", "all_reduce:rng"}});
  EXPECT_TRUE(contains(algorithm.message(), "\"rng\"")) << algorithm.message();
  EXPECT_TRUE(contains(algorithm.message(), "two_shot, ring")) << algorithm.message();
  const Status twice = failureOf({{"RONDO_ALGORITHM", "barrier:dissemination,barrier:x"}});
  EXPECT_FALSE(twice.ok());
  for (const char* value : {",", "all_reduce", "all_reduce:", ":ring", "all_reduce:ring,",
                            "all_reduce:ring,all_reduce:ring"}) {
    EXPECT_FALSE(failureOf({{"RONDO_ALGORITHM", value}}).ok()) << value;
  }
}

TEST(Config, BadFieldsNameTheField) {
  rondoConfig_t requested = RONDO_CONFIG_INITIALIZER;
  requested.slotsPerConnection = -5;
  const Status status = loadConfig(&requested, {}).status();
  EXPECT_TRUE(contains(status.message(), "field slotsPerConnection value \"-5\""))
      << status.message();
}

TEST(Config, UnknownVariablesAreReported) {
  const Config config = load({{"RONDO_CHANELS", "2"}});
  ASSERT_EQ(config.unknownVariables.size(), 1u);
  EXPECT_EQ(config.unknownVariables[0], "RONDO_CHANELS");
}

TEST(Config, MisspeltVariablesAreAnsweredWithTheRightOne) {
  EXPECT_EQ(closestSetting("RONDO_CHANELS"), "RONDO_CHANNELS");
  EXPECT_EQ(closestSetting("RONDO_LOG_LEVLE"), "RONDO_LOG_LEVEL");
  EXPECT_EQ(closestSetting("RONDO_RANK_"), "RONDO_RANK");
  EXPECT_EQ(closestSetting("RONDO_RANKZ"), "RONDO_RANK");
  EXPECT_EQ(closestSetting("RONDO_FROBNICATE"), "");
}

TEST(Config, PortsAreOneOrARange) {
  EXPECT_EQ(load({{"RONDO_PORT", "4000"}}).meeting.portLast, 4000);
  for (const char* value : {"0", "65536", "5-4", "-4", "4-", "a", "1-2-3"})
    EXPECT_FALSE(failureOf({{"RONDO_PORT", value}}).ok()) << value;
  for (const char* value : {"-1", "x", "1.5", "1048577"})
    EXPECT_FALSE(failureOf({{"RONDO_RANK", value}}).ok()) << value;
  EXPECT_FALSE(failureOf({{"RONDO_RANKS", "0"}}).ok());
}

TEST(Config, ASecretIsNeverShown) {
  const Status tooShort = failureOf({{"RONDO_SECRET", "hunter2"}});
  EXPECT_EQ(tooShort.code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(contains(tooShort.message(), "RONDO_SECRET")) << tooShort.message();
  EXPECT_FALSE(contains(tooShort.message(), "hunter2")) << tooShort.message();
  const Config config = load({{"RONDO_SECRET", "correct horse battery"}});
  ASSERT_EQ(config.chosen.size(), 1u);
  EXPECT_EQ(config.chosen[0].value, "(set)");
}

TEST(Config, StructsOfOtherVersions) {
  rondoConfig_t older = RONDO_CONFIG_INITIALIZER;
  older.name = "old";
  older.warningMs = 77;  // beyond the end of the older struct
  older.size = offsetof(rondoConfig_t, algorithm);
  const Result<Config> config = loadConfig(&older, {});
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->name, "old");
  EXPECT_EQ(config->warningAfter, milliseconds(30000));

  rondoConfig_t newer = RONDO_CONFIG_INITIALIZER;
  newer.size += 8;
  EXPECT_TRUE(contains(loadConfig(&newer, {}).status().message(), "at least as new"));

  rondoConfig_t odd = RONDO_CONFIG_INITIALIZER;
  odd.size = 3;
  EXPECT_FALSE(loadConfig(&odd, {}).ok());

  const rondoConfig_t zeroed{};
  EXPECT_TRUE(contains(loadConfig(&zeroed, {}).status().message(), "RONDO_CONFIG_INITIALIZER"));
}

TEST(Config, TheProcessEnvironmentIsReadByPrefix) {
  ASSERT_EQ(::setenv("RONDO_CHANNELS", "5", 1), 0);
  ASSERT_EQ(::setenv("NOT_RONDO_CHANNELS", "6", 1), 0);
  const Environment environment = processEnvironment();
  EXPECT_EQ(environment.at("RONDO_CHANNELS"), "5");
  EXPECT_FALSE(environment.contains("NOT_RONDO_CHANNELS"));
  ASSERT_EQ(::unsetenv("RONDO_CHANNELS"), 0);
}

}  // namespace
}  // namespace rondo
