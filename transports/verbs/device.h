// Adapters and their ports: which of them can be used, and whether they still can.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/net/deadline.h"
#include "transports/verbs/library.h"
#include "transports/verbs/reach.h"
#include "transports/verbs/settings.h"

namespace rondo::verbs {

/// An entry of a port's table of addresses.
struct PortGid {
  std::uint32_t index = 0;
  Gid gid{};
  bool roceV1 = false;

  friend bool operator==(const PortGid&, const PortGid&) = default;
};

/// Those of a RoCE port's addresses that connections may use, in the table's order: of RoCE v2,
/// routable if there is any such. Pure.
std::vector<PortGid> chooseGids(const std::vector<PortGid>& table);

/// An adapter, open.
/// @threads one at a time
class Device {
 public:
  /// @errors SystemError, OutOfMemory.
  static Result<std::shared_ptr<Device>> open(const Library& library, ibv_device* device);

  const Library& library() const { return library_; }

  /// "mlx5_0"
  const std::string& name() const { return name_; }

  ibv_context* context() const { return context_.get(); }

  ibv_pd* domain() const { return domain_.get(); }

  /// Where the completion queues of this device report; its descriptor does not block.
  ibv_comp_channel* channel() const { return channel_.get(); }

  std::uint8_t ports() const { return attributes_.phys_port_cnt; }

  /// Memory regions that it has room for, of all processes.
  int mostRegions() const { return attributes_.max_mr; }

  /// Whether packets are made by software on an ordinary network.
  bool emulated() const;

  /// The next event that concerns the device or a port; nothing if there is none.
  struct Event {
    ibv_event_type type;
    int port;  ///< 0: all
  };

  std::optional<Event> nextEvent();

 private:
  Device(const Library& library, std::string name, ibv_context* context)
      : library_(library),
        name_(std::move(name)),
        context_(context, library.closeDevice),
        domain_(nullptr, library.freeDomain),
        channel_(nullptr, library.destroyChannel) {}

  Status prepare();

  const Library& library_;
  const std::string name_;
  Owned<ibv_context> context_;
  Owned<ibv_pd> domain_;
  Owned<ibv_comp_channel> channel_;
  ibv_device_attr attributes_{};
};

/// A port that was ACTIVE when it was found.
/// @threads one at a time
class Port {
 public:
  /// What the port is, or why it cannot be used (NotSupported), or a setting that does not fit
  /// (InvalidArgument, with the table of addresses).
  static Result<std::shared_ptr<Port>> find(std::shared_ptr<Device> device,
                                            std::uint8_t number,
                                            const Settings& settings);

  Device& device() const { return *device_; }

  const std::shared_ptr<Device>& sharedDevice() const { return device_; }

  std::uint8_t number() const { return number_; }

  /// "mlx5_0 port 1"
  const std::string& name() const { return name_; }

  bool ethernet() const { return ethernet_; }

  std::uint16_t lid() const { return lid_; }

  ibv_mtu mtu() const { return mtu_; }

  /// The longest message, in bytes.
  std::uint32_t mostBytes() const { return mostBytes_; }

  /// Whether packets need a global address though the network has LIDs.
  bool needsGlobal() const { return needsGlobal_; }

  /// Addresses that connections may use.
  const std::vector<PortGid>& gids() const { return gids_; }

  PortOffer offer() const;

  /// "mlx5_0 port 1 (RoCE, GID 3 10.0.0.1)"
  std::string describe() const;

  /// A connection uses the port, by the address at `gid` of gids(): from now on trouble() tells of
  /// both.
  void use(std::size_t gid);

  /// Takes note of what the adapter says. @param patience for a port that is down to come back
  void onEvent(const Device::Event& event, std::chrono::milliseconds patience);

  /// What is wrong with it, though it may pass; empty: nothing is known to be.
  std::string suspicion() const;

  /// Why nothing can cross it any more; empty: nothing is known to be wrong, or it may pass, or no
  /// connection uses what is wrong.
  std::string trouble() const;

 private:
  Port(std::shared_ptr<Device> device, std::uint8_t number);

  Status query(ibv_port_attr& attributes) const;
  Status readGids(int entries, const Settings& settings);
  void checkAddresses();
  void setFault(std::string fault);

  const std::shared_ptr<Device> device_;
  const std::uint8_t number_;
  const std::string name_;
  bool ethernet_ = false;
  std::uint16_t lid_ = 0;
  ibv_mtu mtu_ = IBV_MTU_256;
  std::uint32_t mostBytes_ = 0;
  bool needsGlobal_ = false;
  std::vector<PortGid> gids_;
  std::vector<bool> used_;  // by place in gids_; empty: the port is not used
  std::string fault_;       // the first that does not pass
  Deadline backBy_;         // of a port that is down; else never
};

/// Of a rank, of all adapters of its host: the largest hosts have eight adapters of two ports. One
/// port carries 10 to 50 GB/s, so what more would bring is bounded by the rank itself.
inline constexpr std::size_t kMostPorts = 16;

/// What a search for ports has found.
struct PortSearchResult {
  std::vector<std::shared_ptr<Port>> usable;  ///< opened, in the system's order; up to kMostPorts
  std::vector<std::string> passedOver;        ///< why each of the others looked at is not used
};

/// Looks through the adapters until there are as many usable ports as one rank can do with.
/// @errors NotSupported (no adapter), InvalidArgument (a setting).
Result<PortSearchResult> searchPorts(const Library& library, const Settings& settings);

/// All usable ports that the settings allow, opened, in the system's order; at least one.
/// @errors NotSupported, with the reason for each port that there is; InvalidArgument (a setting).
Result<std::vector<std::shared_ptr<Port>>> findPorts(const Library& library,
                                                     const Settings& settings);

/// What the system says about a failed call of libibverbs, with the limit and the cure if it may
/// lack memory that can be locked.
std::string verbsErrorText(int error);

}  // namespace rondo::verbs
