// NCCL's variables in Rondo's words.

#include "src/nccl/environment.h"

#include <string>

#include <gtest/gtest.h>

namespace rondo::nccl {
namespace {

TEST(NcclEnvironment, SaysInRondosVariablesWhatNcclsSay) {
  struct Case {
    const char* variable;
    const char* value;
    const char* setting;
    const char* text;
  };

  constexpr Case kCases[] = {
      {"NCCL_DEBUG", "INFO", "RONDO_LOG_LEVEL", "info"},
      {"NCCL_DEBUG", "warn", "RONDO_LOG_LEVEL", "warn"},
      {"NCCL_DEBUG", "TRACE", "RONDO_LOG_LEVEL", "trace"},
      {"NCCL_DEBUG_FILE", "/tmp/log.%h.%p", "RONDO_LOG_FILE", "/tmp/log.%h.%p"},
      {"NCCL_SOCKET_IFNAME", "eth,ib", "RONDO_INTERFACE", "eth*,ib*"},
      {"NCCL_SOCKET_IFNAME", "=eth0,eth1", "RONDO_INTERFACE", "eth0,eth1"},
      {"NCCL_SOCKET_IFNAME", "^docker,lo", "RONDO_INTERFACE", "^docker*,lo*"},
      {"NCCL_SOCKET_IFNAME", "^=lo", "RONDO_INTERFACE", "^lo"},
      {"NCCL_IB_HCA", "mlx5", "RONDO_IB_DEVICES", "mlx5*"},
      {"NCCL_IB_HCA", "=mlx5_0:1,mlx5_2", "RONDO_IB_DEVICES", "mlx5_0:1,mlx5_2"},
      {"NCCL_IB_HCA", "mlx5_0:1,mlx4", "RONDO_IB_DEVICES", "mlx5_0:1,mlx4*"},
      {"NCCL_IB_GID_INDEX", "3", "RONDO_IB_GID_INDEX", "3"},
      {"NCCL_IB_TC", "106", "RONDO_IB_TRAFFIC_CLASS", "106"},
      {"NCCL_IB_SL", "1", "RONDO_IB_SERVICE_LEVEL", "1"},
      {"NCCL_IB_TIMEOUT", "22", "RONDO_IB_TIMEOUT", "22"},
      {"NCCL_IB_RETRY_CNT", "7", "RONDO_IB_RETRIES", "7"},
      {"NCCL_IB_DISABLE", "1", "RONDO_TRANSPORT", "cuda_ipc,shm,tcp"},
      {"NCCL_NET", "Socket", "RONDO_TRANSPORT", "cuda_ipc,shm,tcp"},
      {"NCCL_P2P_DISABLE", "1", "RONDO_TRANSPORT", "shm,verbs,tcp"},
      {"NCCL_SHM_DISABLE", "1", "RONDO_TRANSPORT", "cuda_ipc,verbs,tcp"},
  };
  for (const Case& each : kCases) {
    const Translation translation = translate({{each.variable, each.value}});
    const Environment expected = {{each.setting, each.text}};
    EXPECT_EQ(translation.settings, expected) << each.variable << "=" << each.value;
    ASSERT_EQ(translation.notes.size(), 1);
    EXPECT_NE(translation.notes[0].find(each.setting), std::string::npos);
    // What it says is something that the setting takes.
    EXPECT_TRUE(loadConfig(nullptr, translation.settings).ok()) << each.setting << each.text;
  }
}

TEST(NcclEnvironment, LeavesToRondoWhatNcclLeavesToItself) {
  for (const auto& [variable, value] : Environment{{"NCCL_DEBUG", "VERSION"},
                                                   {"NCCL_IB_GID_INDEX", "-1"},
                                                   {"NCCL_SHM_DISABLE", "0"},
                                                   {"NCCL_NET", "IB"},
                                                   {"NCCL_SOCKET_IFNAME", "^"},
                                                   {"NCCL_CROSS_NIC", "1"}}) {
    const Translation translation = translate({{variable, value}});
    EXPECT_TRUE(translation.settings.empty()) << variable;
    ASSERT_EQ(translation.notes.size(), 1) << variable;
    EXPECT_NE(translation.notes[0].find("changes nothing"), std::string::npos);
  }
}

TEST(NcclEnvironment, BansAddUp) {
  const Translation translation = translate({{"NCCL_SHM_DISABLE", "1"}, {"NCCL_IB_DISABLE", "1"}});
  EXPECT_EQ(translation.settings, (Environment{{"RONDO_TRANSPORT", "cuda_ipc,tcp"}}));
  EXPECT_EQ(translation.notes.size(), 2);
}

TEST(NcclEnvironment, RondosOwnVariablesCount) {
  const Translation translation =
      translate({{"NCCL_DEBUG", "INFO"}, {"RONDO_LOG_LEVEL", "error"}, {"HOME", "/"}});
  EXPECT_TRUE(translation.settings.empty());
  ASSERT_EQ(translation.notes.size(), 1);
  EXPECT_NE(translation.notes[0].find("is set and counts"), std::string::npos);
}

}  // namespace
}  // namespace rondo::nccl
