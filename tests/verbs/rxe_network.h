// The network of the guest that rxe_guest/ boots, for tests that run there: which devices play
// which host, cables that lose packets or are cut, and what the devices have counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::testing {

/// Hosts of a test, each with devices of its own: a device that talks to itself sends no packets.
struct RxeHosts {
  int hosts = 2;
  int rails = 1;  ///< devices of each host

  int devices() const { return hosts * rails; }

  /// RONDO_IB_DEVICES of `rank`; ranks take turns over the hosts.
  std::string devicesOf(int rank) const;
};

/// Cuts the cable of device `device`, or repairs it.
bool setCable(int device, bool whole);

/// Takes the cable of device `device` out of the switch, which the device does not notice, or puts
/// it back.
bool setForwarding(int device, bool on);

/// Whether the device's port is ACTIVE.
bool isActive(int device);

/// While there is one, each device loses some of the packets that it sends.
class PacketLoss {
 public:
  PacketLoss(int devices, const std::string& share);
  ~PacketLoss();
  PacketLoss(const PacketLoss&) = delete;
  PacketLoss& operator=(const PacketLoss&) = delete;

  /// How many were lost so far.
  std::uint64_t packets() const;

 private:
  int devices_;
};

/// What a device has counted so far: "sent_pkts", "rcvd_seq_err", ...
std::uint64_t rxeCounter(int device, const std::string& name);

}  // namespace rondo::testing
