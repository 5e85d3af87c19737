// What can be set about adapters; docs/configuration.md is the page for users.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rondo::verbs {

struct Settings {
  std::string devices{};                    ///< NameFilter of "mlx5_0" and "mlx5_0:1"; empty: all
  std::optional<std::uint32_t> gidIndex{};  ///< none: chosen by rule (reach.h)
  std::uint8_t trafficClass = 0;            ///< of RoCE's IP packets: DSCP in the upper six bits
  std::uint8_t serviceLevel = 0;
  /// Until an adapter repeats what was not acknowledged: 4.096 us * 2^timeout. 18 is a second; with
  /// 7 retries a dead path is an error after 8 s, more on adapters that wait longer than asked.
  std::uint8_t timeout = 18;
  std::uint8_t retries = 7;
};

}  // namespace rondo::verbs
