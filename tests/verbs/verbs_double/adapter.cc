#include "tests/verbs/verbs_double/adapter.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace rondo::testing {

namespace {

/// fe80::<place>:1
GidBytes linkLocal(int place) {
  GidBytes bytes{0xfe, 0x80};
  bytes[13] = static_cast<std::uint8_t>(place);
  bytes[15] = 1;
  return bytes;
}

/// ::ffff:10.<place>.1.1
GidBytes mapped(int place) {
  GidBytes bytes{};
  bytes[10] = bytes[11] = 0xff;
  bytes[12] = 10;
  bytes[13] = static_cast<std::uint8_t>(place);
  bytes[14] = bytes[15] = 1;
  return bytes;
}

std::string textFrom(const char* variable, const char* otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : text;
}

/// The parts of "a,b,c".
std::vector<std::string> splitList(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

}  // namespace

int numberFrom(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

Adapter::Adapter(std::string_view adapterName, bool isEthernet, int place)
    : ibv_device{},
      ethernet(isEthernet),
      lid(isEthernet ? 0 : static_cast<std::uint16_t>(place + 17)) {
  node_type = IBV_NODE_CA;
  transport_type = IBV_TRANSPORT_IB;
  const std::size_t length = std::min(adapterName.size(), sizeof name - 1);
  std::memcpy(name, adapterName.data(), length);
  if (ethernet) {
    gids = {{linkLocal(place), IBV_GID_TYPE_ROCE_V1},
            {linkLocal(place), IBV_GID_TYPE_ROCE_V2},
            {mapped(place), IBV_GID_TYPE_ROCE_V1},
            {mapped(place), IBV_GID_TYPE_ROCE_V2}};
  } else {
    gids = {{linkLocal(place), IBV_GID_TYPE_IB}};
  }
}

bool Adapter::isAt(bool global, const GidBytes& gid, std::uint16_t packetLid) const {
  if (!global) return !ethernet && packetLid == lid;
  return std::ranges::find(gids, gid, &GidPlace::bytes) != gids.end();
}

std::vector<std::unique_ptr<Adapter>> adaptersFromEnvironment() {
  std::vector<std::unique_ptr<Adapter>> adapters;
  const std::vector<std::string> down = splitList(textFrom("RONDOTEST_VERBS_DOWN", ""));
  const std::vector<std::string> silent = splitList(textFrom("RONDOTEST_VERBS_SILENT", ""));
  for (const std::string& described :
       splitList(textFrom("RONDOTEST_VERBS_DEVICES", "rdma0=roce,rdma1=roce"))) {
    const std::size_t equals = std::min(described.find('='), described.size());
    const std::string name = described.substr(0, equals);
    const bool ethernet = described.substr(equals) != "=ib";
    adapters.push_back(
        std::make_unique<Adapter>(name, ethernet, static_cast<int>(adapters.size())));
    if (described.substr(equals) == "=cable") adapters.back()->gids.resize(2);
    adapters.back()->active = std::ranges::find(down, name) == down.end();
    for (const std::string& which : silent) {
      const std::size_t colon = std::min(which.find(':'), which.size());
      if (which.substr(0, colon) != name) continue;
      adapters.back()->silentAfter =
          colon == which.size() ? 0 : std::atoi(which.c_str() + colon + 1);
    }
  }
  return adapters;
}

}  // namespace rondo::testing
