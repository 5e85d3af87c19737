// Strangers who take all half-open places of a listening socket, and take them again as soon as
// they are dropped. For tests of doors: src/bootstrap/doorkeeper.h.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "src/bootstrap/doorkeeper.h"
#include "src/bootstrap/log_quota.h"
#include "src/net/socket.h"

namespace rondo {

class StrangerFlood {
 public:
  /// Returns when more connections than there are places were made and say nothing.
  explicit StrangerFlood(const SocketAddress& door)
      : door_(door), strangers_(Doorkeeper::kMostHalfOpen + 44) {
    refill();
    thread_ = std::thread([this] {
      while (!over_)
        refill();
    });
  }

  ~StrangerFlood() {
    over_ = true;
    thread_.join();
  }

  StrangerFlood(const StrangerFlood&) = delete;
  StrangerFlood& operator=(const StrangerFlood&) = delete;

  /// How often one of them was dropped so far.
  int dropped() const { return dropped_; }

  /// How many lines about strangers the log may have since the flood began.
  int mostLines() const {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(LogQuota::Clock::now() - begin_);
    return LogQuota::kBurst + static_cast<int>(seconds / LogQuota::kRefill) + 1;
  }

 private:
  void refill() {
    for (FileDescriptor& stranger : strangers_) {
      std::array<std::byte, 64> hello;
      const bool dropped = stranger.valid() && !recvSome(stranger.get(), hello, "it").ok();
      dropped_ += dropped ? 1 : 0;
      if (stranger.valid() && !dropped) continue;
      Result<FileDescriptor> next =
          connectOnce(door_, Deadline::within(std::chrono::milliseconds{1000}));
      stranger = next.ok() ? *std::move(next) : FileDescriptor();
    }
  }

  const SocketAddress door_;
  const LogQuota::Clock::time_point begin_ = LogQuota::Clock::now();
  std::vector<FileDescriptor> strangers_;
  std::atomic<int> dropped_ = 0;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

}  // namespace rondo
